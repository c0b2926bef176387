import { Canvas, type Warp } from './canvas.js';
import { GLYPHS, type Stroke } from './glyphs.js';
import { Dice } from './dice.js';

export const PICTURE = { width: 330, height: 100 } as const;

/** Height of a glyph's box in its own units. */
const BOX = 14;

/** A picture of the text, which people read and whose characters cannot be cut apart. @param seed the same one gives the same picture */
export function drawText(text: string, seed: string): Canvas {
  const dice = new Dice(`picture ${seed}`);
  const between = (least: number, most: number): number => dice.between(least, most);
  const canvas = new Canvas(PICTURE.width, PICTURE.height);
  const warp = randomWarp(dice);
  const thickness = between(4.6, 5.6);
  let x = between(10, 22);
  for (const character of text) x = drawGlyph(canvas, GLYPHS.get(character) ?? [], x, thickness * between(0.85, 1.15), warp, dice);
  for (let line = 0; line < 2; line++) canvas.stroke(crossing(dice), thickness * between(0.45, 0.65), 1, warp);
  for (let cut = 0; cut < 2; cut++) canvas.stroke(crossing(dice), between(1.4, 2), 0, warp);
  for (let arc = 0; arc < 6; arc++) canvas.stroke(fragment(dice), thickness * between(0.5, 0.7), 1, warp);
  const [tilt, dark] = [between(-1, 1), between(0.05, 0.2)];
  canvas.each((ink, px, py) => {
    const ground = dark * (0.5 + 0.5 * Math.sin(px / 40 + (tilt * py) / 30));
    return Math.max(ink * 0.85, ground) + between(-0.125, 0.125);
  });
  return canvas;
}

/** @returns where the next one begins, which is inside of this one */
function drawGlyph(canvas: Canvas, strokes: readonly Stroke[], x: number, thickness: number, warp: Warp, dice: Dice): number {
  const height = dice.between(46, 60);
  const scale = height / BOX;
  const [stretch, shear, turn] = [dice.between(0.8, 1.05), dice.between(-0.25, 0.25), dice.between(-0.28, 0.28)];
  const [sin, cos] = [Math.sin(turn), Math.cos(turn)];
  const middle = PICTURE.height / 2 + dice.between(-9, 9);
  const width = 10 * scale * stretch;
  for (const stroke of strokes) {
    const placed: number[] = [];
    for (let at = 0; at < stroke.length; at += 2) {
      const v = (stroke[at + 1]! - BOX / 2) * scale + dice.between(-1, 1);
      const u = (stroke[at]! - 5) * scale * stretch + shear * v + dice.between(-1, 1);
      placed.push(x + width / 2 + u * cos - v * sin, middle + u * sin + v * cos);
    }
    canvas.stroke(placed, thickness, 1, warp);
  }
  return x + width + dice.between(3, 10);
}

/** Waves over the whole picture. */
function randomWarp(dice: Dice): Warp {
  const [a, b] = [dice.between(3, 6), dice.between(3, 6)];
  const [p, q, r, s] = [dice.between(0, 7), dice.between(0, 7), dice.between(28, 45), dice.between(20, 35)];
  return (x, y) => [x + a * Math.sin(y / s + p) + 2 * Math.sin(x / 17 + q), y + b * Math.sin(x / r + q) + 2 * Math.sin(y / 13 + p)];
}

/** A curve from one side to the other, as strong as what it crosses. */
function crossing(dice: Dice): Stroke {
  const [from, to, wave, turns, start] = [
    dice.between(15, 85),
    dice.between(15, 85),
    dice.between(6, 22),
    dice.between(30, 60),
    dice.between(0, 7),
  ];
  const points: number[] = [];
  for (let x = -10; x <= PICTURE.width + 10; x += 8)
    points.push(x, from + ((to - from) * x) / PICTURE.width + wave * Math.sin(x / turns + start));
  return points;
}

/** A short arc beside the characters. */
function fragment(dice: Dice): Stroke {
  const [x, y, turn, bend, length] = [
    dice.between(10, PICTURE.width - 10),
    dice.between(10, 90),
    dice.between(0, 7),
    dice.between(-0.5, 0.5),
    dice.between(2, 5),
  ];
  const points: number[] = [];
  for (let step = 0; step <= 4; step++)
    points.push(x + step * length * Math.cos(turn + step * bend), y + step * length * Math.sin(turn + step * bend));
  return points;
}
