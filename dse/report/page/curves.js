// Curves: `[samples, centre, low, high]`, each a list; a figure holds from its sample to the next. None is null.

const RACE = 0.02;

function last(curve, column = 1) {
  const value = curve[column][curve[column].length - 1];
  return value === null ? Infinity : value;
}

function best(curves) {
  return Object.keys(curves).map(Number).filter((who) => Number.isFinite(last(curves[who])))
    .sort((a, b) => last(curves[a]) - last(curves[b]));
}

// The figures of a curve after so many samples: those of its last step up to there.
function at(curve, samples) {
  const [x, ...columns] = curve;
  if (samples < x[0] || samples > x[x.length - 1]) return null;
  const step = x.findLastIndex((one) => one <= samples);
  return columns.map((column) => column[step]);
}

function domain(curves, names, target) {
  const ends = [], starts = [];
  for (const who of names) {
    const [x, centre] = curves[who];
    if (Number.isFinite(last(curves[who]))) ends.push(last(curves[who]), last(curves[who], 2));
    const limit = Math.max(x[0], RACE * x[x.length - 1]);
    const early = centre.filter((v, i) => v !== null && x[i] <= limit);
    if (early.length) starts.push(Math.min(...early));
  }
  if (!ends.length) return null;
  starts.sort((a, b) => a - b);
  const low = Math.min(...ends, ...(target ? [target] : []));
  const middle = starts.length ? starts[Math.floor(starts.length / 2)] : 0;
  const high = Math.max(...ends, middle, 1.02 * low);
  const pad = (high / low) ** 0.07;
  return [low / pad, high * pad];
}

// Where the first curve comes into view: before that a logarithmic axis of samples would be empty.
function begin(curves, names, high) {
  const entries = names.map((who) => curves[who][0].find((_, i) => curves[who][1][i] !== null && curves[who][1][i] <= high));
  const first = Math.min(...entries.filter((one) => one !== undefined));
  return Math.max(1, Number.isFinite(first) ? first / 1.3 : 1);
}

// A path through places `[across, down]`, level from each to the next one's side.
function steps(places) {
  const [first, ...others] = places.map((place) => place.map((one) => one.toFixed(1)));
  return `M${first}${others.map(([across, down]) => `H${across}V${down}`).join("")}`;
}

// The path around places `[across, low, high]`, its edges in steps.
function around(places) {
  const low = steps(places.map(([across, down]) => [across, down]));
  const back = places.map(([across, , up], i) => {
    const held = i ? places[i - 1][2] : up;
    return `${i === places.length - 1 ? `V${up.toFixed(1)}` : ""}H${across.toFixed(1)}V${held.toFixed(1)}`;
  });
  return `${low}${back.reverse().join("")}Z`;
}

// Heights in the order of those wanted, `apart` from each other and inside as far as there is room.
function spread(wanted, apart, top, bottom) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const found = [...wanted];
  let floor = top;
  for (const i of order) floor = (found[i] = Math.max(found[i], floor)) + apart;
  let ceiling = Math.max(bottom, top + (wanted.length - 1) * apart);
  for (const i of order.reverse()) ceiling = (found[i] = Math.min(found[i], ceiling)) - apart;
  return found;
}
