import { Dice } from './dice.js';

/** Samples a second. */
const RATE = 8000;
const SILENCE = 128;
/** Seconds. */
const TONE = 0.16;
const PAUSE = { least: 0.12, most: 0.24 } as const;
const GROUP_PAUSE = 0.9;

/**
 * Groups of short high tones to be counted, with low ones among them that are not, as a WAV file of 8 bits.
 * @param counts the number of high tones in each group, a digit each @param seed the same one gives the same sound
 */
export function soundOf(counts: string, seed: string): Buffer {
  const dice = new Dice(`sound ${seed}`);
  const parts: Uint8Array[] = [quiet(0.4)];
  for (const digit of counts) {
    for (const isHigh of shuffled(Number(digit), dice)) parts.push(tone(isHigh, dice), quiet(dice.between(PAUSE.least, PAUSE.most)));
    parts.push(quiet(GROUP_PAUSE));
  }
  const samples = Buffer.concat(parts);
  const period = dice.whole(55, 90);
  const hum = Float64Array.from({ length: period }, (_, at) => 5 * Math.sin((2 * Math.PI * at) / period));
  for (let at = 0; at < samples.length; at++) samples[at] = Math.round(samples[at]! + hum[at % period]! + dice.between(-7, 7));
  return Buffer.concat([header(samples.length), samples]);
}

/** High tones, and up to three low ones, in any order. */
function shuffled(high: number, dice: Dice): boolean[] {
  const all = [...Array<boolean>(high).fill(true), ...Array<boolean>(dice.whole(0, 3)).fill(false)];
  for (let at = all.length - 1; at > 0; at--) {
    const other = dice.whole(0, at);
    [all[at], all[other]] = [all[other]!, all[at]!];
  }
  return all;
}

function tone(isHigh: boolean, dice: Dice): Uint8Array {
  const pitch = isHigh ? dice.between(1000, 1500) : dice.between(180, 280);
  const glide = dice.between(-0.15, 0.15);
  const volume = isHigh ? dice.between(40, 70) : dice.between(60, 90);
  const count = Math.floor(TONE * RATE * dice.between(0.8, 1.2));
  return Uint8Array.from({ length: count }, (_, at) => {
    const envelope = Math.min(at / 80, (count - at) / 400, 1);
    return Math.round(SILENCE + volume * envelope * Math.sin((2 * Math.PI * pitch * (1 + (glide * at) / count) * at) / RATE));
  });
}

const quiet = (seconds: number): Uint8Array => new Uint8Array(Math.floor(seconds * RATE)).fill(SILENCE);

function header(length: number): Buffer {
  const bytes = Buffer.alloc(44);
  bytes.write('RIFF', 0);
  bytes.writeUInt32LE(36 + length, 4);
  bytes.write('WAVEfmt ', 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(RATE, 24);
  bytes.writeUInt32LE(RATE, 28);
  bytes.writeUInt16LE(1, 32);
  bytes.writeUInt16LE(8, 34);
  bytes.write('data', 36);
  bytes.writeUInt32LE(length, 40);
  return bytes;
}
