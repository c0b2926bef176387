import type { Directive } from '../../core/contract/tree.js';
import type { Prober } from './probe.js';

/** The types of checks, as the API names them, and their directives. */
export const CHECK_TYPES = { http: 'health_check_http', stcp: 'health_check_tcp', sudp: 'health_check_udp' } as const;
export type CheckType = keyof typeof CHECK_TYPES;

/** When members are checked. Times in milliseconds. */
export interface CheckTiming {
  readonly interval: number;
  readonly jitter: number;
  readonly timeout: number;
  readonly passes: number;
  readonly fails: number;
  readonly visit_interval: number;
  /** Undefined: that of the member. */
  readonly port: number | undefined;
}

/** One check of an upstream. */
export interface CheckSettings {
  /** Its identity from one configuration to the next; unique in the upstream. */
  readonly name: string;
  /** Its name in messages. */
  readonly label: string;
  readonly timing: CheckTiming;
  readonly probe: Prober;
}

/** The checks of an upstream. */
export interface HealthSettings {
  readonly checks: readonly CheckSettings[];
  /** New members get no requests before they have passed. */
  readonly isMandatory: boolean;
  /** The state is kept where the upstream moves to another zone. */
  readonly isPersistent: boolean;
}

/** The line of a check in the block of an upstream. */
export function checkLineOf({ block }: Directive, type: CheckType): Directive | undefined {
  const [line] = block?.named(CHECK_TYPES[type]) ?? [];
  return line;
}
