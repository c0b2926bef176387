import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Bits of a pixel: 16 shades are enough, and small. */
const DEPTH = 4;
const SHADES = 2 ** DEPTH - 1;

/** Where a point comes to be: both coordinates are read before either is used. */
export type Warp = (x: number, y: number) => readonly [number, number];

/** A picture in shades of grey: 0 is empty, 1 is ink. */
export class Canvas {
  readonly #ink: Float32Array;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.#ink = new Float32Array(width * height);
  }

  /** Draws a line of that thickness through the points. @param shade 1: ink, 0: erases */
  stroke(points: readonly number[], thickness: number, shade: number, warp: Warp): void {
    for (let at = 0; at + 3 < points.length; at += 2) this.#segment(points, at, thickness / 2, shade, warp);
  }

  /** Changes every pixel. */
  each(change: (ink: number, x: number, y: number) => number): void {
    for (let y = 0, at = 0; y < this.height; y++) for (let x = 0; x < this.width; x++, at++) this.#ink[at] = change(this.#ink[at]!, x, y);
  }

  /** 8 bits a pixel, 0 is black. */
  pixels(): Uint8Array {
    const pixels = new Uint8Array(this.#ink.length);
    for (let at = 0; at < pixels.length; at++) pixels[at] = Math.round((1 - Math.min(Math.max(this.#ink[at]!, 0), 1)) * 255);
    return pixels;
  }

  /** As a PNG (ISO/IEC 15948), greyscale. */
  png(): Buffer {
    const row = Math.ceil((this.width * DEPTH) / 8) + 1;
    const rows = Buffer.alloc(row * this.height);
    for (let y = 0, at = 0; y < this.height; y++)
      for (let x = 0; x < this.width; x++, at++) {
        const shade = Math.round((1 - Math.min(Math.max(this.#ink[at]!, 0), 1)) * SHADES);
        rows[y * row + 1 + (x >> 1)]! |= (x & 1) === 0 ? shade << DEPTH : shade;
      }
    const head = Buffer.alloc(13);
    head.writeUInt32BE(this.width, 0);
    head.writeUInt32BE(this.height, 4);
    head.writeUInt8(DEPTH, 8);
    return Buffer.concat([SIGNATURE, chunk('IHDR', head), chunk('IDAT', deflateSync(rows, { level: 1 })), chunk('IEND', Buffer.alloc(0))]);
  }

  #segment(points: readonly number[], at: number, radius: number, shade: number, warp: Warp): void {
    const [x0, y0, x1, y1] = [points[at]!, points[at + 1]!, points[at + 2]!, points[at + 3]!];
    const steps = Math.max(Math.ceil(Math.hypot(x1 - x0, y1 - y0)), 1);
    for (let step = 0; step <= steps; step++) {
      const [x, y] = warp(x0 + ((x1 - x0) * step) / steps, y0 + ((y1 - y0) * step) / steps);
      this.#disc(x, y, radius, shade);
    }
  }

  #disc(cx: number, cy: number, radius: number, shade: number): void {
    const [left, right] = [Math.max(Math.floor(cx - radius), 0), Math.min(Math.ceil(cx + radius), this.width - 1)];
    const [top, bottom] = [Math.max(Math.floor(cy - radius), 0), Math.min(Math.ceil(cy + radius), this.height - 1)];
    for (let y = top; y <= bottom; y++)
      for (let x = left; x <= right; x++) {
        const covered = Math.min(Math.max(radius + 0.5 - Math.sqrt((x - cx) ** 2 + (y - cy) ** 2), 0), 1);
        const at = y * this.width + x;
        const ink = this.#ink[at]!;
        this.#ink[at] = shade > 0 ? Math.max(ink, covered * shade) : Math.min(ink, 1 - covered);
      }
  }
}

function chunk(type: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(data.length + 12);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, 'latin1');
  data.copy(bytes, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
  return bytes;
}
