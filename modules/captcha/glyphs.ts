/** Strokes of the characters of pictures: lines and curves in a box that is 10 wide and 14 high, from the top left. */

/** Points in turn: x, y. */
export type Stroke = readonly number[];

/** Words: `x,y` are points of a line, `~x,y` those of a smooth curve through them. A bar begins another stroke. */
const SHAPES: Readonly<Record<string, string>> = {
  A: '0,14 5,0 10,14 | 2,9 8,9',
  C: '~9,3 ~7,0 ~3,0 ~0,4 ~0,10 ~3,14 ~7,14 ~9,11',
  E: '9,0 0,0 0,14 9,14 | 0,7 7,7',
  F: '9,0 0,0 0,14 | 0,7 7,7',
  H: '0,0 0,14 | 9,0 9,14 | 0,7 9,7',
  K: '0,0 0,14 | 9,0 0,8 | 3,6 9,14',
  L: '0,0 0,14 8,14',
  M: '0,14 1,0 5,9 9,0 10,14',
  N: '0,14 0,0 9,14 9,0',
  P: '0,14 0,0 | ~0,0 ~6,0 ~9,3.5 ~6,7 ~0,7',
  R: '0,14 0,0 | ~0,0 ~6,0 ~9,3.5 ~6,7 ~0,7 | 4,7 9,14',
  T: '0,0 10,0 | 5,0 5,14',
  V: '0,0 5,14 10,0',
  X: '0,0 9,14 | 9,0 0,14',
  Y: '0,0 5,7 10,0 | 5,7 5,14',
  '3': '~0,2 ~4,0 ~8,2 ~7,6 ~3,7 | ~3,7 ~8,8 ~9,11 ~5,14 ~0,12',
  '4': '7,14 7,0 0,10 10,10',
  '7': '0,0 9,0 3,14',
  '9': '~8,5 ~5,8 ~1,6 ~1,2 ~5,0 ~8,3 ~8,9 ~4,14',
};

/** Points between two points of a curve. */
const STEPS = 6;

export const GLYPHS: ReadonlyMap<string, readonly Stroke[]> = new Map(
  Object.entries(SHAPES).map(([character, shape]) => [character, shape.split(' | ').map(strokeOf)]),
);

function strokeOf(text: string): Stroke {
  const words = text.split(' ');
  const points = words.map((word) => word.replace('~', '').split(',').map(Number) as [number, number]);
  return text.startsWith('~') ? curve(points) : points.flat();
}

/** A Catmull-Rom spline. */
function curve(points: readonly (readonly [number, number])[]): Stroke {
  const stroke: number[] = [];
  for (let at = 0; at + 1 < points.length; at++) {
    const [p0, p1, p2, p3] = [points[at - 1] ?? points[at]!, points[at]!, points[at + 1]!, points[at + 2] ?? points[at + 1]!];
    for (let step = 0; step < STEPS; step++)
      stroke.push(between(p0[0], p1[0], p2[0], p3[0], step / STEPS), between(p0[1], p1[1], p2[1], p3[1], step / STEPS));
  }
  stroke.push(...points.at(-1)!);
  return stroke;
}

function between(a: number, b: number, c: number, d: number, t: number): number {
  return 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t ** 2 + (3 * b - a - 3 * c + d) * t ** 3);
}
