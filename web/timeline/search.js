// Finds slices by name and goes from one to the next in order of time. Steps are found on their threads, not twice.

/** @typedef {import("./data.js").Timeline} Timeline */

/**
 * Numbers of the names that contain all words of a text, in any case.
 * @param {Timeline} timeline
 * @param {string} text
 */
export function matching(timeline, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  /** @type {Set<number>} */
  const found = new Set();
  timeline.names.forEach((name, number) => {
    const lower = name.toLowerCase();
    if (words.every((word) => lower.includes(word))) found.add(number);
  });
  return found;
}

/**
 * How many slices have one of these names, and how long they took in all.
 * @param {Timeline} timeline
 * @param {Set<number>} names
 */
export function countHits(timeline, names) {
  let count = 0;
  let total = 0;
  for (const track of timeline.tracks) {
    if (track.sort === "steps") continue;
    for (const lane of track.lanes) {
      for (let i = 0; i < lane.count; i++) {
        if (names.has(lane.name[i])) {
          count++;
          total += lane.end[i] - lane.start[i];
        }
      }
    }
  }
  return { count, total };
}

/**
 * The next slice after a time with one of these names, or the one before it.
 * @param {Timeline} timeline
 * @param {Set<number>} names
 * @param {number} time where the last hit began
 * @param {number} slice its number
 * @param {1 | -1} direction
 * @returns {number | null} its number
 */
export function nextHit(timeline, names, time, slice, direction) {
  /** @type {number | null} */
  let best = null;
  let bestKey = [Infinity * direction, Infinity * direction];
  const later = (/** @type {number[]} */ a, /** @type {number[]} */ b) =>
    direction * (a[0] - b[0]) > 0 || (a[0] === b[0] && direction * (a[1] - b[1]) > 0);
  for (const track of timeline.tracks) {
    if (track.sort === "steps") continue;
    for (const lane of track.lanes) {
      for (let i = 0; i < lane.count; i++) {
        if (!names.has(lane.name[i])) continue;
        const key = [lane.start[i], lane.first + i];
        if (later(key, [time, slice]) && later(bestKey, key)) {
          bestKey = key;
          best = lane.first + i;
        }
      }
    }
  }
  return best;
}
