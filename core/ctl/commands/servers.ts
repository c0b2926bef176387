import { defined, type Command } from '../command.js';
import { table } from '../table.js';
import { ADDRESS, BODY, done, FORCE, listCall, LISTED, NAME, origin, place, shortBody, text } from './blocks.js';

export const SERVERS: readonly Command[] = [
  {
    words: 'servers list',
    about: 'list the virtual servers',
    operands: [LISTED],
    options: [NAME],
    call: (args) => listCall('/v1/dyn_srv', args),
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
    options: [NAME, { name: 'listen-option', value: 'WORDS', about: 'parameters of its listen: ssl' }],
    writes: true,
    call: (args, read) => ({
      method: 'POST',
      path: '/v1/dyn_srv',
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
    options: [NAME, FORCE],
    writes: true,
    call: (args, read) => ({
      method: 'PATCH',
      path: '/v1/dyn_srv',
      body: { ...place(args), server_body: text(args.operand('BODY'), read) },
    }),
    show: done,
  },
  {
    words: 'servers remove',
    about: 'remove a virtual server',
    operands: [ADDRESS],
    options: [NAME, FORCE],
    writes: true,
    call: (args) => ({ method: 'PUT', path: '/v1/dyn_srv', body: { type: 'del', ...place(args) } }),
    show: done,
  },
];
