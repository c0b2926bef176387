import { Dice } from './dice.js';

/** Samples a second. */
const RATE = 8000;
const SILENCE = 128;
/** Seconds. */
const TONE = { least: 0.2, most: 0.38 } as const;
const PAUSE = { least: 0.1, most: 0.22 } as const;
const GROUP_PAUSE = { least: 1, most: 1.3 } as const;
const MARGIN = 0.6;
/** Hertz in the middle of a tone, and the factor by which it rises or falls. All kinds of tones have the same range. */
const PITCH = { least: 320, most: 780 } as const;
const GLIDE = { least: 1.4, most: 1.9 } as const;
const HARMONICS = 3;
/** Tones of the background, which wander up and down all the time. */
const MURMURS = 3;

/** +1: rises, which counts; -1: falls; 0: stays. */
type Direction = 1 | 0 | -1;

/**
 * Groups of short tones of which the rising ones are to be counted, among others that fall or stay, before a background of noise and wandering tones: as a WAV
 * file of 8 bits. @param counts the number of rising tones in each group, a digit each @param seed the same one gives the same sound
 */
export function soundOf(counts: string, seed: string): Buffer {
  const dice = new Dice(`sound ${seed}`);
  const tones: { begin: number; direction: Direction; seconds: number }[] = [];
  let end = MARGIN;
  for (const digit of counts) {
    for (const direction of shuffled(Number(digit), dice)) {
      const seconds = dice.between(TONE.least, TONE.most);
      tones.push({ begin: end, direction, seconds });
      end += seconds + dice.between(PAUSE.least, PAUSE.most);
    }
    end += dice.between(GROUP_PAUSE.least, GROUP_PAUSE.most);
  }
  const wave = background(Math.floor(end * RATE), dice);
  for (const { begin, direction, seconds } of tones) addTone(wave, Math.floor(begin * RATE), direction, seconds, dice);
  return Buffer.concat([header(wave.length), Buffer.from(wave.map((value) => Math.round(SILENCE + Math.min(Math.max(value, -127), 127))))]);
}

/** Rising tones, and up to three others, in any order. */
function shuffled(rising: number, dice: Dice): Direction[] {
  const others = Array.from({ length: dice.whole(0, 3) }, (): Direction => (dice.whole(0, 2) === 0 ? 0 : -1));
  const all = [...Array<Direction>(rising).fill(1), ...others];
  for (let at = all.length - 1; at > 0; at--) {
    const other = dice.whole(0, at);
    [all[at], all[other]] = [all[other]!, all[at]!];
  }
  return all;
}

function addTone(wave: Float64Array, begin: number, direction: Direction, seconds: number, dice: Dice): void {
  const [length, middle] = [Math.floor(seconds * RATE), PITCH.least * (PITCH.most / PITCH.least) ** dice.between(0, 1)];
  const glide = direction === 0 ? dice.between(0.97, 1.03) : dice.between(GLIDE.least, GLIDE.most) ** direction;
  const volumes = Array.from({ length: HARMONICS }, () => dice.between(5, 24));
  let phase = dice.between(0, 2 * Math.PI);
  for (let at = 0; at < length; at++) {
    phase += (2 * Math.PI * middle * glide ** (at / length - 0.5)) / RATE;
    const envelope = Math.min(at / 160, (length - at) / 400, 1);
    for (let harmonic = 0; harmonic < HARMONICS; harmonic++)
      wave[begin + at]! += volumes[harmonic]! * envelope * Math.sin((harmonic + 1) * phase);
  }
}

/** Noise that is stronger in low pitches, and murmurs in the range of the tones. */
function background(length: number, dice: Dice): Float64Array {
  const wave = new Float64Array(length);
  let low = 0;
  for (let at = 0; at < length; at++) {
    low = low * 0.8 + dice.between(-1, 1);
    wave[at] = low * 13;
  }
  for (let murmur = 0; murmur < MURMURS; murmur++) addMurmur(wave, dice);
  return wave;
}

/** Glides from one pitch to the next, at any pace, louder and softer. */
function addMurmur(wave: Float64Array, dice: Dice): void {
  let [at, phase, pitch, volume] = [0, 0, dice.between(PITCH.least, 2 * PITCH.most), 8];
  while (at < wave.length) {
    const steps = Math.min(Math.floor(dice.between(0.1, 0.5) * RATE), wave.length - at);
    const [next, louder] = [dice.between(PITCH.least, 2 * PITCH.most), dice.between(3, 18)];
    for (let step = 0; step < steps; step++, at++) {
      phase += (2 * Math.PI * pitch * (next / pitch) ** (step / steps)) / RATE;
      wave[at]! += (volume + ((louder - volume) * step) / steps) * Math.sin(phase);
    }
    [pitch, volume] = [next, louder];
  }
}

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
