// Numbers as people read them; the same rules as in the terminal.

/** @type {ReadonlyArray<readonly [string, number]>} */
const TIMES = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
/** @type {ReadonlyArray<readonly [string, number]>} */
const SIZES = [["B", 1], ["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]];

/** @type {ReadonlyArray<readonly [string, number]>} */
const RATES = [["B/s", 1], ["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9], ["TB/s", 1e12]];

/** Four digits that count. @param {number} value */
export function digits(value) {
  const size = Math.abs(value);
  const decimals = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
  return value.toFixed(decimals);
}

/**
 * @param {number} value
 * @param {ReadonlyArray<readonly [string, number]>} units
 */
function scaled(value, units) {
  let chosen = units[0];
  for (const unit of units) {
    if (Math.abs(value) >= unit[1]) chosen = unit;
  }
  const whole = chosen[1] === 1 && Number.isInteger(value);
  return `${whole ? value : digits(value / chosen[1])} ${chosen[0]}`;
}

/** A length of time. @param {number} ns */
export function duration(ns) {
  return scaled(ns, TIMES);
}

/** @param {number} bytes */
export function byteSize(bytes) {
  return scaled(bytes, SIZES);
}

/** A whole number in groups of three. @param {number} value */
export function grouped(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/**
 * A value of a unit as the tables name it.
 * @param {number} value
 * @param {string} unit
 */
export function inUnit(value, unit) {
  switch (unit) {
    case "ns":
      return duration(value);
    case "bytes":
      return byteSize(value);
    case "bytes_per_second":
      return scaled(value, RATES);
    case "count":
      return Number.isInteger(value) ? grouped(value) : digits(value);
    case "gigabytes_per_second":
      return `${digits(value)} GB/s`;
    case "percent":
      return `${value.toFixed(1)} %`;
    default:
      return digits(value);
  }
}
