import { flag, number, optional, template, zone, type ZoneSize } from '../../core/contract/args.js';
import { argType } from '../../core/contract/arg-type.js';
import { ArgError, directive } from '../../core/contract/spec.js';

/** Memory of the figures without a zone of their own: what is not used is not taken from the system. */
export const OWN_SIZE = 64 * 1024 * 1024;

/** Largest number of groups. */
export const MOST_BUDGET = 100_000;

const plain = zone({ min: '256k' });

/** `shared:name:size`, as nginx-module-vts has it. */
const sharedZone = argType<ZoneSize>({
  kind: 'zone',
  form: 'shared:name:size',
  parse(value, context) {
    const text = /^shared:(.*)$/s.exec(value)?.[1];
    if (text === undefined) throw new ArgError(`invalid parameter "${value}"`, 'as in shared:vhost_traffic_status:32m');
    return plain.parse(text, context, value);
  },
  print: (value) => `shared:${plain.print?.(value) ?? ''}`,
});

const zoneSpec = directive({
  in: ['http'],
  args: optional(sharedZone),
  doc: 'Turns statistics on, with memory of that name and size. Without one they have 64 MB, of which only the used part is taken from the system.',
});
const onSpec = directive({
  in: ['http', 'server', 'location'],
  args: flag(),
  dynamic: true,
  doc: 'Counts requests for statistics. Default: on where `vhost_traffic_status_zone` is set.',
});
const filterSpec = directive({
  in: ['http', 'server', 'location'],
  args: { key: template('key'), group: optional(template('name')) },
  many: true,
  inherit: 'append',
  dynamic: true,
  doc: 'Counts requests in groups of their own as well, one for each value of the key. Requests with an empty key are not counted.',
});
const budgetSpec = directive({
  in: ['http'],
  args: number({ min: 1, max: MOST_BUDGET }),
  dynamic: true,
  doc: 'Groups of `vhost_traffic_status_filter_by_set_key` at most, over all names (default 1000). The group `other` of a name counts the requests of further keys.',
});

/** Each directive has the name that nginx-module-vts gives it, and a short one. */
export const directives = {
  vhost_traffic_status_zone: zoneSpec,
  vts_zone: zoneSpec,
  vhost_traffic_status: onSpec,
  vts: onSpec,
  vhost_traffic_status_filter_by_set_key: filterSpec,
  vts_filter_by_set_key: filterSpec,
  vhost_traffic_status_filter_max_node: budgetSpec,
  vts_filter_max_node: budgetSpec,
};
