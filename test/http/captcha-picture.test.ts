/** How well programs read the pictures of challenges: fewer than 1 in 20. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeFileSync } from 'node:fs';
import test, { type TestFn } from 'ava';
import type { Canvas } from '../../modules/captcha/canvas.js';
import { drawText, PICTURE } from '../../modules/captcha/picture.js';
import { ALPHABET, pictureText, type Claims } from '../../modules/captcha/sealed-challenge.js';
import { findProgram, testWith } from '../harness/programs.js';
import { tempFolder } from '../harness/temp.js';

interface Sample {
  readonly text: string;
  readonly picture: Canvas;
}

/** The same pictures in each run. */
function samples(count: number, name: string): Sample[] {
  return Array.from({ length: count }, (_, at) => {
    const seed = `${name} ${at}`;
    const text = pictureText({ seed } as Claims);
    return { text, picture: drawText(text, seed) };
  });
}

test('a picture is the same for the same seed, and another one for another seed', (t) => {
  const [one, again, other] = [samples(1, 'a')[0]!, samples(1, 'a')[0]!, samples(1, 'b')[0]!];
  t.deepEqual(one.picture.png(), again.picture.png());
  t.notDeepEqual(one.picture.png(), other.picture.png());
  t.true(one.picture.png().length < 20_000);
});

/** A picture as a person would prepare it: blurred, then black and white. */
function prepared(picture: Canvas): Uint8Array {
  const { width, height } = PICTURE;
  const pixels = picture.pixels();
  const result = new Uint8Array(pixels.length);
  for (let at = 0; at < pixels.length; at++) {
    const x = at % width;
    const y = Math.floor(at / width);
    let sum = 0;
    let count = 0;
    for (let v = Math.max(y - 1, 0); v <= Math.min(y + 1, height - 1); v++)
      for (let u = Math.max(x - 1, 0); u <= Math.min(x + 1, width - 1); u++, count++) sum += pixels[v * width + u]!;
    result[at] = sum / count < 130 ? 0 : 255;
  }
  return result;
}

(testWith('tesseract') as TestFn)('tesseract reads fewer than 1 in 20', async (t) => {
  const folder = tempFolder(t);
  const all = samples(60, 'tesseract');
  const head = `P5 ${PICTURE.width} ${PICTURE.height} 255\n`;
  const list = all.flatMap(({ picture }, at) => {
    const [plain, black] = [join(folder, `${at}.png`), join(folder, `${at}.pgm`)];
    writeFileSync(plain, picture.png());
    writeFileSync(black, Buffer.concat([Buffer.from(head), prepared(picture)]));
    return [plain, black];
  });
  writeFileSync(join(folder, 'list'), list.join('\n'));
  const options = [join(folder, 'list'), '-', '--psm', '8', '-c', `tessedit_char_whitelist=${ALPHABET}`];
  const env = { ...process.env, OMP_THREAD_LIMIT: '1' };
  const { stdout } = await promisify(execFile)(findProgram('tesseract')!, options, { env });
  const read = stdout.split('\f').map((text) => text.replaceAll(/\s/g, ''));
  t.true(read.length >= list.length);
  const right = all.filter(({ text }, at) => read[2 * at] === text || read[2 * at + 1] === text).length;
  t.log(`${right} of ${all.length}`);
  t.true(right < all.length / 20, `${right} of ${all.length}`);
});

const COLUMNS = 14;
const ROWS = 16;

/** The characters of a picture, cut at equal widths of the inked part, in few pixels each. */
function cells(picture: Canvas, count: number): Float32Array[] {
  const { width, height } = PICTURE;
  const black = prepared(picture);
  const ink = (x: number): number => {
    let sum = 0;
    for (let y = 0; y < height; y++) if (black[y * width + x] === 0) sum++;
    return sum;
  };
  let [left, right] = [0, width - 1];
  while (left < width / 2 && ink(left) < 12) left++;
  while (right > width / 2 && ink(right) < 12) right--;
  const cell = (right - left) / count;
  return Array.from({ length: count }, (_, at) => {
    const shape = new Float32Array(COLUMNS * ROWS);
    for (let y = 0; y < height; y++)
      for (let x = Math.max(Math.floor(left + (at - 0.2) * cell), 0); x < Math.min(left + (at + 1.2) * cell, width); x++) {
        const column = Math.min(Math.floor(((x - left - (at - 0.2) * cell) / (1.4 * cell)) * COLUMNS), COLUMNS - 1);
        if (column >= 0 && black[y * width + x] === 0) shape[Math.floor((y / height) * ROWS) * COLUMNS + column]!++;
      }
    return shape;
  });
}

test('a matcher trained on 500 pictures reads fewer than 1 in 20', (t) => {
  const known = samples(500, 'known').flatMap(({ text, picture }) =>
    cells(picture, text.length).map((shape, at) => ({ shape, character: text[at]! })),
  );
  const asked = samples(100, 'asked');
  let characters = 0;
  const right = asked.filter(({ text, picture }) => {
    const read = cells(picture, text.length)
      .map((shape) => nearest(shape, known))
      .join('');
    characters += Array.from(text).filter((character, at) => read[at] === character).length;
    return read === text;
  }).length;
  t.log(`${right} of ${asked.length} pictures, ${characters} of ${asked.length * 6} characters`);
  t.true(right < asked.length / 20);
  t.true(characters > (asked.length * 6) / ALPHABET.length, 'it finds more than by chance: the matcher works');
});

interface Known {
  readonly shape: Float32Array;
  readonly character: string;
}

/** Neighbours that vote. */
const NEAR = 7;

/** The character that most of the nearest shapes are. */
function nearest(shape: Float32Array, known: readonly Known[]): string {
  const near = Array.from({ length: NEAR }, () => ({ distance: Infinity, character: '' }));
  for (const { shape: other, character } of known) {
    const farthest = near[NEAR - 1]!.distance;
    let distance = 0;
    for (let at = 0; at < shape.length && distance < farthest; at++) distance += (shape[at]! - other[at]!) ** 2;
    if (distance >= farthest) continue;
    near[NEAR - 1] = { distance, character };
    near.sort((one, another) => one.distance - another.distance);
  }
  const votes = Map.groupBy(near, ({ character }) => character);
  return [...votes].toSorted(([, one], [, another]) => another.length - one.length)[0]![0];
}
