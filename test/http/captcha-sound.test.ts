/** How well a program counts the sounds of challenges: the figure that docs/captcha.md has. */
import test from 'ava';
import { soundCounts, type Mode } from '../../modules/captcha/sealed-challenge.js';
import { soundOf } from '../../modules/captcha/sound.js';

/** Sounds that its threshold is found with, and others that it counts. */
const KNOWN = 10;
const ASKED = 12;
/** Samples of a spectrum, and between two of them: 64 and 12.5 ms. */
const WINDOW = 512;
const HOP = 100;
const LOWEST = 230;
/** Pitches an octave, and all of them. */
const OCTAVE = 16;
const PITCHES = 40;

/** A window of each pitch, for the two parts of a spectrum. */
const WAVES = Array.from({ length: PITCHES + 26 }, (_, pitch) => {
  const step = (2 * Math.PI * LOWEST * 2 ** (pitch / OCTAVE)) / 8000;
  const wave = (of: (angle: number) => number): Float64Array =>
    Float64Array.from({ length: WINDOW }, (__, at) => (1 - Math.cos((2 * Math.PI * at) / WINDOW)) * of(step * at));
  return [wave(Math.cos), wave(Math.sin)] as const;
});

/** Spectra in pitches of equal distance, each with its second and third harmonic, less the mean of its pitch. */
function spectra(samples: Buffer): Float64Array[] {
  const rows: Float64Array[] = [];
  const levels = Float64Array.from(samples, (sample) => sample - 128);
  for (let start = 44; start + WINDOW < levels.length; start += HOP) {
    const power = WAVES.map(([cosine, sine]) => {
      let [real, imaginary] = [0, 0];
      for (let at = 0; at < WINDOW; at++) {
        const value = levels[start + at]!;
        real += value * cosine[at]!;
        imaginary += value * sine[at]!;
      }
      return Math.log(real ** 2 + imaginary ** 2 + 1);
    });
    rows.push(Float64Array.from({ length: PITCHES }, (_, pitch) => power[pitch]! + power[pitch + OCTAVE]! + (power[pitch + 25] ?? 0)));
  }
  for (let pitch = 0; pitch < PITCHES; pitch++) {
    const mean = rows.reduce((sum, row) => sum + row[pitch]!, 0) / rows.length;
    for (const row of rows) row[pitch]! -= mean;
  }
  return rows;
}

interface Tone {
  readonly at: number;
  readonly score: number;
  readonly isRising: boolean;
}

const FRAMES = 18;
const SLOPES = [-13, -10, 0, 10, 13];

/** The best straight line through the pitches from each moment on. */
function lineAt(rows: readonly Float64Array[], at: number): Tone {
  let best: Tone = { at, score: -Infinity, isRising: false };
  for (let pitch = 0; pitch < PITCHES; pitch++)
    for (const slope of SLOPES) {
      const end = pitch + slope;
      if (end < 0 || end >= PITCHES) continue;
      let score = 0;
      for (let frame = 0; frame < FRAMES; frame++) score += rows[at + frame]![Math.round(pitch + (slope * frame) / FRAMES)]!;
      if (score > best.score) best = { at, score, isRising: slope > 0 };
    }
  return best;
}

/** Counts of rising tones, by the strongest lines that do not overlap. @param least score of a tone */
function heard(lines: readonly Tone[], least: number): string {
  const tones: Tone[] = [];
  for (const line of lines.filter(({ score }) => score > least).toSorted((one, other) => other.score - one.score))
    if (tones.every(({ at }) => Math.abs(at - line.at) > 22)) tones.push(line);
  tones.sort((one, other) => one.at - other.at);
  const counts = [0];
  for (const [place, tone] of tones.entries()) {
    if (place > 0 && tone.at - tones[place - 1]!.at > 80) counts.push(0);
    if (tone.isRising) counts[counts.length - 1]!++;
  }
  return counts.join('');
}

const sounds = (mode: Mode, name: string, count: number) =>
  Array.from({ length: count }, (_, at) => {
    const counts = soundCounts({ seed: `${name} ${at}`, mode });
    const rows = spectra(soundOf(counts, `${name} ${at}`));
    return { counts, lines: Array.from({ length: rows.length - FRAMES }, (_, row) => lineAt(rows, row)) };
  });

type Sounds = ReturnType<typeof sounds>;
const solved = (all: Sounds, least: number): number => all.filter(({ counts, lines }) => heard(lines, least) === counts).length;
/** Groups that are counted right. */
const groups = (all: Sounds, least: number): number =>
  all.reduce((sum, { counts, lines }) => {
    const found = heard(lines, least);
    return sum + (found.length === counts.length ? Array.from(counts).filter((count, at) => found[at] === count).length : 0);
  }, 0);

test('a matched filter counts some groups of tones right, and hardly a sound where pictures are wanted', (t) => {
  const [known, asked] = [sounds('auto', 'known', KNOWN), sounds('image', 'asked', ASKED)];
  const levels = Array.from({ length: 30 }, (_, step) => step * 6);
  const level = levels.toSorted((one, other) => groups(known, other) - groups(known, one))[0]!;
  const right = groups(known, level);
  t.log(
    `${right} of ${KNOWN * 6} groups; ${solved(known, level)} of ${KNOWN} sounds of six groups, ${solved(asked, level)} of ${ASKED} of twelve`,
  );
  t.true(right > KNOWN, 'more than by chance: the filter works');
  t.is(solved(asked, level), 0);
});
