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
  readonly format: (value: number) => string;
}

const HEIGHT = 96;
/** Seconds that the plot shows: at first fewer. */
const SPAN = 300;
const FIRST_SPAN = 60;
const DARK = matchMedia('(prefers-color-scheme: dark)');

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function dataOf(lines: readonly Line[], samples: readonly Sample[]): uPlot.AlignedData {
  const shown = samples.slice(-SPAN);
  return [shown.map(({ at }) => at / 1000), ...lines.map(({ of }) => shown.map((sample) => of(sample) ?? null))];
}

function optionsOf({ lines, format }: Props, width: number): uPlot.Options {
  const axis = { stroke: colorOf('muted'), font: '11px system-ui, sans-serif', ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    padding: [6, 0, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    scales: {
      x: { range: (_, min, max) => [max - Math.min(SPAN, Math.max(FIRST_SPAN, max - min)), max] },
      y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] },
    },
    axes: [
      {
        ...axis,
        size: 18,
        gap: 2,
        grid: { show: false },
        space: 110,
        values: (_, splits) => splits.map((at) => new Date(at * 1000).toLocaleTimeString('en-GB')),
      },
      {
        ...axis,
        size: 46,
        gap: 4,
        space: 26,
        grid: { stroke: colorOf('line'), width: 1 },
        values: (_, splits) => splits.map((split) => format(split)),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, color, fill }) => ({
        label,
        stroke: colorOf(color),
        width: 1.5,
        points: { show: false },
        ...(fill === true && { fill: `${colorOf(color)}22` }),
      })),
    ],
  };
}

export function Plot(props: Props) {
  const { title, value, detail, lines, samples } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsOf(props, element.clientWidth), dataOf(lines, samples), element);
    };
    draw();
    const watcher = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    watcher.observe(element);
    DARK.addEventListener('change', draw);
    return () => {
      watcher.disconnect();
      DARK.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, []);
  useEffect(() => plot.current?.setData(dataOf(lines, samples)), [samples]);
  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{title}</span>
        <span class="plot-value num">{value}</span>
        {detail !== undefined && <span class="plot-detail">{detail}</span>}
      </figcaption>
      <div class="plot-area" ref={place} aria-hidden="true" />
      {lines.length > 1 && (
        <ul class="legend">
          {lines.map(({ label, color }) => (
            <li key={label} class={`line-${color}`}>
              {label}
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}
