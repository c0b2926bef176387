import { flag, text } from '../../core/contract/args.js';
import { directive } from '../../core/contract/spec.js';

const onSpec = directive({
  in: ['stream', 'stream server'],
  args: flag(),
  dynamic: true,
  doc: 'Counts sessions for statistics. Servers with a `status_zone` are counted where it is not set.',
});

/** Each directive has the name that nginx-module-stream-sts gives it, and a short one. */
export const streamDirectives = {
  server_traffic_status: onSpec,
  vts: onSpec,
  status_zone: directive({
    in: ['stream server'],
    args: text('zone'),
    dynamic: true,
    doc: 'Name of the server in statistics. Servers with one name are counted together.',
  }),
};
