import type { Lab } from './lab.js';
import type { ServerKind } from './servers.js';
import type { Turns } from './turns.js';

/** A figure that a measurement gives, and how it is shown. */
export interface Column {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  readonly digits: number;
}

/** Figures that a measurement gives for each of several things; the key of each is `row key`. */
export interface Breakdown {
  /** Meaning of the rows. */
  readonly title: string;
  readonly rows: readonly string[];
  readonly columns: readonly Column[];
}

/** By the key of their columns. */
export type Figures = Readonly<Record<string, number>>;

/** One thing that is measured, of every server in turn. */
export interface Scenario {
  /** As `--only` takes it. */
  readonly name: string;
  readonly title: string;
  /** How it is measured, for the report. */
  readonly how: string;
  readonly columns: readonly Column[];
  /** Shown in a table of its own. */
  readonly breakdown?: Breakdown;
  /** Key of the column whose ratio to nginx is shown. */
  readonly compared?: string;
  /** All servers run side by side and are loaded in turn: a machine whose speed changes from one moment to the next changes all alike. */
  readonly sideBySide?: boolean;
  /** No peer can do it. */
  readonly oursOnly?: boolean;
  /** Servers that cannot do it. */
  readonly without?: readonly string[];
  /** Seconds for one server; more, and the sample is a fault. */
  readonly limitSeconds?: number;
  /** Why it cannot be measured here, or undefined when it can. */
  obstacle(lab: Lab): string | undefined;
  /**
   * Measures one server once, from its start to its end. Reasons that make the figures worthless are added to `faults`, or thrown.
   * @param turns every load of a scenario that measures side by side is a turn
   */
  measure(lab: Lab, server: ServerKind, faults: string[], turns: Turns): Promise<Figures>;
}
