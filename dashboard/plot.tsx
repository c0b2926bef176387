/** A plot over time, drawn by uPlot in the colours of the page. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Sample } from './samples.js';

export interface Line {
  readonly label: string;
  /** Name of a colour of the page. */
  readonly color: string;
  readonly of: (sample: Sample) => number | undefined;
  readonly fill?: boolean;
}

interface Props {
  readonly title: string;
  /** The value now, for readers. */
  readonly value: string;
  readonly detail?: string;
  readonly lines: readonly Line[];
  readonly samples: readonly Sample[];
  /** Moments that are marked, epoch milliseconds. */
  readonly marks: readonly number[];
  /** What the plot shows, in seconds. */
  readonly span: number;
  readonly format: (value: number) => string;
  /** End of the smallest scale. */
  readonly least: number;
}

/** Longest time between two samples that a line joins. Seconds. */
const JOINED = 30;
/** A scale shows so many minutes with seconds at most. */
const MINUTES_WITH_SECONDS = 10;
const DARK = matchMedia('(prefers-color-scheme: dark)');

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** With a gap where samples are far apart. */
function dataOf({ lines, samples, span }: Props): uPlot.AlignedData {
  const from = (samples.at(-1)?.at ?? 0) - span * 1000;
  // Without samples the axes are those of this moment.
  const times: number[] = samples.length === 0 ? [Date.now() / 1000] : [];
  const values = lines.map((): (number | null)[] => times.map(() => null));
  for (const sample of span > MINUTES_WITH_SECONDS * 60 ? coarse(samples) : samples) {
    if (sample.at < from) continue;
    const at = sample.at / 1000;
    const before = times.at(-1);
    if (before !== undefined && at - before > JOINED) {
      times.push(before + JOINED / 2);
      for (const list of values) list.push(null);
    }
    times.push(at);
    for (const [number, { of }] of lines.entries()) values[number]!.push(of(sample) ?? null);
  }
  return [times, ...values];
}

/** One sample of each ten seconds: the last one. */
function coarse(samples: readonly Sample[]): readonly Sample[] {
  return samples.filter(({ at }, place) => Math.floor(at / COARSE) !== Math.floor((samples[place + 1]?.at ?? 0) / COARSE));
}
const COARSE = 10_000;

/** The end of a scale: 1, 2 or 5 of a power of ten, so that it seldom moves. */
function roundedUp(value: number, least: number): number {
  if (value <= least) return least;
  const power = 10 ** Math.floor(Math.log10(value));
  return (STEPS.find((step) => step * power >= value) ?? 10) * power;
}
const STEPS = [1, 2, 5];

function timeOf(at: number, span: number): string {
  return new Date(at * 1000).toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...(span <= MINUTES_WITH_SECONDS * 60 && { second: '2-digit' }),
  });
}

function optionsOf(current: () => Props, size: Pick<uPlot.Options, 'width' | 'height'>): uPlot.Options {
  const { lines } = current();
  const axis = { stroke: colorOf('muted'), font: '11px system-ui, sans-serif', ticks: { show: false } };
  const marks = colorOf('text');
  return {
    ...size,
    // To the right of the last moment its time has half of its width.
    padding: [6, 16, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    scales: {
      x: { range: (_, __, max) => [max - current().span, max] },
      y: { range: (_, __, max) => [0, roundedUp(max * 1.05, current().least)] },
    },
    axes: [
      {
        ...axis,
        size: 18,
        gap: 2,
        grid: { show: false },
        space: 58,
        values: (_, splits) => splits.map((at) => timeOf(at, current().span)),
      },
      {
        ...axis,
        size: 52,
        gap: 4,
        space: 30,
        grid: { stroke: colorOf('line'), width: 1 },
        values: (_, splits) => splits.map((split) => current().format(split)),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, color, fill }) => ({
        label,
        stroke: colorOf(color),
        width: 1.5,
        points: { show: false },
        ...(fill === true && { fill: `${colorOf(color)}1f` }),
      })),
    ],
    hooks: { draw: [(plot) => drawMarks(plot, current().marks, marks)] },
  };
}

function drawMarks(plot: uPlot, marks: readonly number[], color: string): void {
  const { ctx, bbox } = plot;
  const { x } = plot.scales;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const mark of marks) {
    const at = mark / 1000;
    if (x?.min === undefined || x.max === undefined || at < x.min || at > x.max) continue;
    const left = Math.round(plot.valToPos(at, 'x', true));
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/** The style sheet has the height. */
const sizeOf = ({ clientWidth: width, clientHeight: height }: HTMLElement): Pick<uPlot.Options, 'width' | 'height'> => ({ width, height });

export function Plot(props: Props) {
  const { title, value, detail, lines, samples, marks, span } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const current = useRef(props);
  current.current = props;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(
        optionsOf(() => current.current, sizeOf(element)),
        dataOf(current.current),
        element,
      );
    };
    draw();
    const watcher = new ResizeObserver(() => plot.current?.setSize(sizeOf(element)));
    watcher.observe(element);
    DARK.addEventListener('change', draw);
    return () => {
      watcher.disconnect();
      DARK.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, []);
  useEffect(() => plot.current?.setData(dataOf(props)), [samples, span, marks]);
  const isMarked = marks.some((mark) => mark > (samples.at(-1)?.at ?? 0) - span * 1000);
  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{title}</span>
        <span class="plot-value num">{value}</span>
        {detail !== undefined && (
          <span class="plot-detail" title={detail}>
            {detail}
          </span>
        )}
      </figcaption>
      <div class="plot-area" ref={place} aria-hidden="true" />
      <ul class="legend">
        {lines.map(({ label, color }) => (
          <li key={label} class={`line-${color}`}>
            {label}
          </li>
        ))}
        {isMarked && <li class="line-mark">change</li>}
      </ul>
    </figure>
  );
}
