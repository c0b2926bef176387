/** A key on its way into a hash table: its bytes (text as UTF-8) and their hash, without an object for each. */
export class KeyBytes {
  #bytes = new Uint8Array(256);
  length = 0;
  hash = 0;

  set(key: string | Uint8Array, seed: number): void {
    if (typeof key === 'string') this.#setText(key);
    else {
      this.#reserve(key.length);
      this.#bytes.set(key);
      this.length = key.length;
    }
    this.hash = hashOf(this.#bytes, this.length, seed);
  }

  equals(bytes: Uint8Array, start: number): boolean {
    const mine = this.#bytes;
    for (let at = 0; at < this.length; at++) if (mine[at] !== bytes[start + at]) return false;
    return true;
  }

  copyTo(target: Uint8Array, start: number): void {
    for (let at = 0; at < this.length; at++) target[start + at] = this.#bytes[at]!;
  }

  #setText(text: string): void {
    this.#reserve(text.length * 3);
    const bytes = this.#bytes;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code >= 128) {
        this.length = Buffer.from(bytes.buffer).write(text);
        return;
      }
      bytes[at] = code;
    }
    this.length = text.length;
  }

  #reserve(length: number): void {
    if (this.#bytes.length < length) this.#bytes = new Uint8Array(length * 2);
  }
}

/** A multiply and a shift for each byte, finished with the mix of MurmurHash3: keys that differ little fall far apart. */
function hashOf(bytes: Uint8Array, length: number, seed: number): number {
  let hash = seed;
  for (let at = 0; at < length; at++) {
    hash = Math.imul(hash ^ bytes[at]!, 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
