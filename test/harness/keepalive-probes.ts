import { readFileSync } from 'node:fs';

/** 127.0.0.1 and a port as proc(5) shows them. */
const hex = (port: number): string => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;

/**
 * Seconds until the system probes a connection of this machine; undefined: it does not (proc(5), `tr` and `tm->when`).
 * @param port of the end that would probe
 * @param other port of the other end
 */
export function probesIn(port: number, other: number): number | undefined {
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .find((each) => each.includes(`${hex(port)} ${hex(other)} 01`));
  const [, ticks] = /\b02:([0-9A-F]{8})\b/.exec(line ?? '') ?? [];
  return ticks === undefined ? undefined : parseInt(ticks, 16) / 100;
}
