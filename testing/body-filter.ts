import type { BodyFilter, BodyOutput } from '../core/contract/http.js';

/**
 * Runs a body filter for a unit test: gives it the pieces, then the end. Resolves with what it has written when it has ended the body.
 * A piece that the filter does not retain is overwritten after its call.
 * @throws what it throws, what it fails with, and RangeError if it writes other than the bytes of its `length`
 */
export function runBodyFilter(filter: BodyFilter, pieces: readonly (string | Uint8Array)[]): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const written: Buffer[] = [];
    let isOver = false;
    const out: BodyOutput = {
      write(piece) {
        if (!isOver) written.push(Buffer.from(piece));
        return true;
      },
      end() {
        if (isOver) return;
        isOver = true;
        const body = Buffer.concat(written);
        const { length = body.length } = filter;
        if (length === body.length) resolve(body);
        else reject(new RangeError(`the filter wrote ${body.length} bytes, its length is ${length}`));
      },
      pause: () => undefined,
      resume: () => undefined,
      fail(error) {
        isOver = true;
        filter.destroy?.();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    };
    for (const piece of pieces) {
      const bytes = Buffer.from(piece);
      filter.write(bytes, out);
      if (filter.retains === false) bytes.fill(0);
    }
    filter.end(out);
  });
}
