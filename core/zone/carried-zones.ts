import { SentFigures, takeFigures, type CarriedRow } from './carried-figures.js';
import { SentAmounts, unlessEmpty, type CarriedState, type AmountChange } from './carried-state.js';
import { ZoneHolds } from './holds.js';
import { RecordCopies, takeRecords, type CopiedTable } from './record-copies.js';
import type { Zone } from './zone.js';

/** A zone that a directive declares, and what it is for. */
export interface DeclaredZone {
  readonly zone: Zone;
  /** Nothing moves into a zone that is for something else. */
  readonly use: string;
}

interface ZoneData {
  readonly name: string;
  readonly use: string;
  readonly tables: readonly CopiedTable[];
  readonly held: readonly AmountChange[];
  /** Absent: the program before knows none. */
  readonly figures?: readonly CarriedRow[];
}

/**
 * Content of the zones of modules: records, holds and figures.
 * @param declared the current zones
 * @param place of a worker that does not exist, in whose share the connections of the program before are
 */
export function carriedZones(declared: () => readonly DeclaredZone[], { place, workers }: Places): CarriedState {
  return {
    form: 'zones 1',
    give: () => {
      const zones = declared().map(({ zone, use }) => ({
        zone,
        use,
        records: new RecordCopies(zone),
        sent: new SentAmounts(),
        figures: new SentFigures(zone, workers + 1),
      }));
      return () => {
        const all = zones.map(({ zone, use, records, sent, figures }): ZoneData => {
          const held = sent.changes(ZoneHolds.find(zone, workers)?.amounts ?? []);
          return { name: zone.name, use, tables: records.next(), held, figures: figures.changes() };
        });
        return unlessEmpty(all.filter(({ tables, held, figures = [] }) => tables.length + held.length + figures.length > 0));
      };
    },
    take: (data) => {
      const zones = new Map(declared().map(({ zone, use }) => [`${zone.name} ${use}`, zone]));
      for (const { name, use, tables, held, figures = [] } of data as readonly ZoneData[]) {
        const zone = zones.get(`${name} ${use}`);
        if (zone === undefined) continue;
        for (const table of tables) takeRecords(zone, table);
        takeFigures(zone, workers + 1, place + 1, figures);
        const holds = held.length === 0 ? undefined : ZoneHolds.open(zone, place, workers);
        for (const [key, [amount = 0]] of held) holds?.change(key, amount);
      }
    },
  };
}

interface Places {
  readonly place: number;
  readonly workers: number;
}
