// Numbers

// As dse.support.quantities: prefixes go with s and J alone, a product of units has a power of ten.
const PREFIXES = { "-15": "f", "-12": "p", "-9": "n", "-6": "µ", "-3": "m", 0: "", 3: "k", 6: "M", 9: "G" };
const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });

function prefix(value, unit) {
  if (!["s", "J", "J s"].includes(unit) || !(value > 0)) return [1, unit];
  const power = Math.min(9, Math.max(unit === "J s" ? -300 : -15, 3 * Math.floor(Math.log10(value) / 3 + 1e-9)));
  if (unit !== "J s") return [10 ** power, PREFIXES[power] + unit];
  return [10 ** power, power ? `10${raised(power)} ${unit}` : unit];
}

function raised(power) {
  return [...String(power)].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]).join("");
}

function plain(value) {
  return grouped.format(value);
}

function figure(value, unit) {
  if (value === null || value === undefined) return "infeasible";
  if (!unit) return value >= 10 ? plain(Number(value.toPrecision(4))) : value.toFixed(3);
  if (unit === "J s" && value > 0 && (value < 1e-4 || value >= 1e4)) {
    const [mantissa, power] = value.toExponential(3).split("e");
    return `${mantissa} × 10${raised(Number(power))} ${unit}`;
  }
  const [scale, shown] = unit === "J s" ? [1, unit] : prefix(value, unit);
  const digits = value / scale;
  return `${digits >= 1e3 ? plain(Number(digits.toPrecision(5))) : digits.toPrecision(4)} ${shown}`;
}

// An interval, with its unit once; nothing where there is none.
function interval(low, high, unit) {
  if (low === high) return "";
  const [a, b] = [figure(low, unit), figure(high, unit)];
  const same = unit && a.includes(" ") && a.slice(a.indexOf(" ")) === b.slice(b.indexOf(" "));
  return `${same ? a.slice(0, a.indexOf(" ")) : a} to ${b}`;
}

// Scales

function scale(kind, low, high, from, to) {
  const f = kind === "log" ? Math.log : (v) => v;
  const [a, b] = [f(low), f(high)];
  const place = (v) => from + ((f(v) - a) / (b - a || 1)) * (to - from);
  place.back = (p) => {
    const v = a + ((p - from) / (to - from)) * (b - a);
    return kind === "log" ? Math.exp(v) : v;
  };
  place.ticks = (most) => kind === "log" && high / low >= 2.5 ? logTicks(low, high, most) : evenTicks(low, high, most);
  return place;
}

function evenTicks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) || 10 * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-12); k += 1) found.push(Number((k * step).toPrecision(12)));
  return found;
}

function logTicks(low, high, most) {
  for (const steps of [[1, 1.5, 2, 3, 4, 5, 7], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
    const found = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k += 1) {
      for (const m of steps) found.push(Number((m * 10 ** k).toPrecision(12)));
    }
    const inside = found.filter((v) => v >= low * 0.9999 && v <= high * 1.0001);
    if (inside.length <= most) return inside;
  }
  const first = Math.ceil(Math.log10(low)), count = Math.floor(Math.log10(high)) - first + 1;
  const step = Math.ceil(count / most);
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => 10 ** (first + i * step));
}
