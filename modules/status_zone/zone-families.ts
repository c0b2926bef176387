import type { FigureFamily, Sample } from '../../core/contract/families.js';
import type { FigureTotals } from '../../core/contract/figures.js';
import { codesOf, ZoneFigure, type ZoneKind } from './zone-counters.js';

/** Zones of one kind by their names. */
export type ZonesByName = ReadonlyMap<string, FigureTotals>;

/** Figures of zones for monitoring. */
export function* zoneFamilies(kind: ZoneKind, zones: ZonesByName): Generator<FigureFamily> {
  const prefix = `srv_http_${kind}_zone`;
  const counter = (name: string, help: string, figure: number, unit?: 'bytes'): FigureFamily => ({
    name: `${prefix}_${name}`,
    help: `${help}, of a status_zone of a ${kind}.`,
    ...(unit && { unit }),
    kind: 'counter',
    samples: counters(zones, figure),
  });
  yield counter('requests', 'Requests', ZoneFigure.Requests);
  yield {
    name: `${prefix}_responses`,
    help: `Responses by status, of a status_zone of a ${kind}.`,
    kind: 'counter',
    samples: codes(zones),
  };
  yield counter('discarded', 'Requests that ended without a response', ZoneFigure.Discarded);
  yield counter('received', 'Bytes of requests', ZoneFigure.Received, 'bytes');
  yield counter('sent', 'Bytes of responses', ZoneFigure.Sent, 'bytes');
  if (kind === 'location') return;
  yield {
    name: `${prefix}_processing`,
    help: 'Requests of a status_zone of a server under way.',
    kind: 'gauge',
    samples: Array.from(zones, ([zone, totals]) => ({ labels: { zone }, value: totals.gauge(0) })),
  };
}

function* counters(zones: ZonesByName, figure: number): Generator<Sample> {
  for (const [zone, totals] of zones) yield { labels: { zone }, value: totals.counter(figure), createdAt: totals.createdAt };
}

function* codes(zones: ZonesByName): Generator<Sample> {
  for (const [zone, totals] of zones) {
    const { createdAt } = totals;
    for (const [code, value] of codesOf(totals)) yield { labels: { zone, code: String(code) }, value, createdAt };
  }
}
