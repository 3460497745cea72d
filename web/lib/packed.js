// Data inside the page: deflated, in base64, in a script element that is never run. The browser itself inflates it.

/**
 * @param {string} id of the element
 * @returns {Promise<Uint8Array>}
 */
export async function unpack(id) {
  const element = document.getElementById(id);
  if (!element || !element.textContent) throw new Error(`the page holds no data named ${id}`);
  const packed = fromBase64(element.textContent.trim());
  // The text is large, and of no further use.
  element.textContent = "";
  return inflate(packed);
}

/** @param {Uint8Array} packed */
export async function inflate(packed) {
  const stream = new Blob([/** @type {BlobPart} */ (packed)]).stream();
  const inflated = stream.pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(inflated).arrayBuffer());
}

/** @param {string} text */
function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Reads a column of whole numbers, each in as many bytes of seven bits as it needs. */
export class Varints {
  /**
   * @param {Uint8Array} bytes
   * @param {number} at
   */
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }

  next() {
    // Bits beyond 32 are added, not shifted in: times may need 53.
    let value = 0;
    let place = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * place;
      if (byte < 128) return value;
      place *= 128;
    }
  }

  /** Differences that may be negative alternate between the signs. */
  signed() {
    const value = this.next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
}
