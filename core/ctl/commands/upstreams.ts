import { done, pathOf, type Arguments, type Command } from '../command.js';
import { fieldLines, table } from '../table.js';
import { BODY, FORCE, isStream, origin, STREAM, text, type Read, UPSTREAM } from './blocks.js';

const base = (args: Arguments): string => (isStream(args) ? '/v1/dyn_stream_ups' : '/v1/dyn_ups');

export const UPSTREAMS: readonly Command[] = [
  {
    words: 'upstreams list',
    about: 'list the upstreams',
    options: [STREAM],
    call: (args) => ({ method: 'GET', path: base(args) }),
    show: table([
      { title: 'NAME', field: 'upstream_name' },
      { title: 'ALGORITHM', field: 'algorithm' },
      { title: 'ZONE', field: 'zone' },
      { title: 'KEEPALIVE', field: 'keepalive' },
      { title: 'FROM', text: origin },
    ]),
  },
  {
    words: 'upstreams get',
    about: 'show one upstream',
    operands: [UPSTREAM],
    options: [STREAM],
    call: (args) => ({ method: 'GET', path: base(args) + pathOf(args.operand('UPSTREAM')) }),
    show: fieldLines,
  },
  {
    words: 'upstreams add',
    about: 'add an upstream',
    operands: [UPSTREAM, BODY],
    options: [STREAM],
    writes: true,
    call: (args, read) => ({ method: 'POST', path: base(args), body: { type: 'add', ...upstreamOf(args, read) } }),
    show: done,
  },
  {
    words: 'upstreams set',
    about: 'replace the directives of an upstream; its members stay',
    operands: [UPSTREAM, BODY],
    options: [FORCE, STREAM],
    writes: true,
    call: (args, read) => ({
      method: 'PATCH',
      path: base(args) + pathOf(args.operand('UPSTREAM')),
      body: { upstream_body: text(args.operand('BODY'), read) },
    }),
    show: done,
  },
  {
    words: 'upstreams remove',
    about: 'remove an upstream',
    operands: [UPSTREAM],
    options: [FORCE, STREAM],
    writes: true,
    call: (args) => ({ method: 'PUT', path: base(args), body: { type: 'del', upstream_name: args.operand('UPSTREAM') } }),
    show: done,
  },
];

function upstreamOf(args: Arguments, read: Read): object {
  return { upstream_name: args.operand('UPSTREAM'), upstream_body: text(args.operand('BODY'), read) };
}
