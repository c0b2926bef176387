import { defined, done, type Arguments, type Command } from '../command.js';
import { table } from '../table.js';
import { ADDRESS, BODY, FORCE, isStream, listCall, LISTED, NAME, origin, place, shortBody, STREAM, text } from './blocks.js';

const base = (args: Arguments): string => (isStream(args) ? '/v1/stream_srv' : '/v1/dyn_srv');

export const SERVERS: readonly Command[] = [
  {
    words: 'servers list',
    about: 'list the virtual servers',
    operands: [LISTED],
    options: [NAME, STREAM],
    call: (args) => listCall(base(args), args),
    show: table([
      { title: 'LISTENS', field: 'listens' },
      { title: 'NAMES', field: 'server_name' },
      { title: 'FROM', text: origin },
      { title: 'BODY', text: shortBody('server_body') },
    ]),
  },
  {
    words: 'servers add',
    about: 'add a virtual server',
    operands: [ADDRESS, BODY],
    options: [NAME, { name: 'listen-option', value: 'WORDS', about: 'parameters of its listen: ssl' }, STREAM],
    writes: true,
    call: (args, read) => ({
      method: 'POST',
      path: base(args),
      body: {
        type: 'add',
        ...place(args),
        ...defined({ listen_option: args.optional('listen-option') }),
        server_body: text(args.operand('BODY'), read),
      },
    }),
    show: done,
  },
  {
    words: 'servers set',
    about: 'replace everything but addresses and names of a virtual server',
    operands: [ADDRESS, BODY],
    options: [NAME, FORCE, STREAM],
    writes: true,
    call: (args, read) => ({
      method: 'PATCH',
      path: base(args),
      body: { ...place(args), server_body: text(args.operand('BODY'), read) },
    }),
    show: done,
  },
  {
    words: 'servers remove',
    about: 'remove a virtual server',
    operands: [ADDRESS],
    options: [NAME, FORCE, STREAM],
    writes: true,
    call: (args) => ({ method: 'PUT', path: base(args), body: { type: 'del', ...place(args) } }),
    show: done,
  },
];
