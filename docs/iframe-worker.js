// Browsers start no worker for a page opened from a folder, and the search is one: here it runs in a hidden frame.
// The class has the name by which the theme's search knows that it is in a frame.
"use strict";
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!DOCTYPE html><title>Search</title>";
      this.inside = new Promise((resolve) => {
        frame.addEventListener("load", () => this.start(frame.contentWindow, address, resolve), { once: true });
      });
      document.body.append(frame);
    }

    start(inside, address, resolve) {
      const script = inside.document.createElement("script");
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      script.addEventListener("load", () => resolve(inside));
      script.src = new URL(address, location.href);
      inside.document.body.append(script);
    }

    async postMessage(data) {
      const inside = await this.inside;
      inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  }
  window.IFrameWorker = window.Worker = IFrameWorker;
}
