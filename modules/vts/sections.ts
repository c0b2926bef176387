import type { RowKind } from './layout.js';

/** Sections of the API and the kinds of rows in each, in the order of the response. */
export const SECTIONS: Readonly<Record<string, readonly RowKind[]>> = {
  http: ['main'],
  servers: ['server'],
  locations: ['location'],
  filters: ['filter', 'other'],
  upstreams: ['upstream', 'member'],
  stream_servers: ['stream_server'],
  stream_upstreams: ['stream_upstream', 'stream_member'],
  listeners: ['listener'],
};

const SECTION_OF = new Map(Object.entries(SECTIONS).flatMap(([section, kinds]) => kinds.map((kind) => [kind, section] as const)));

export const sectionOf = (kind: RowKind): string => SECTION_OF.get(kind) ?? '';
