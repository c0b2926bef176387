import { explanationText } from '../../cli/explanation-text.js';
import type { Explanation } from '../../contract/explain.js';
import { defined, done, type Command } from '../command.js';
import { logLine } from '../log-line.js';
import { printable } from '../table.js';

export const OBSERVE: readonly Command[] = [
  {
    words: 'explain',
    about: 'show what would become of a request, and why',
    operands: [{ name: 'URL', about: 'http://host:port/path?args, or a path with --header "Host: …"' }],
    options: [
      { name: 'method', letter: 'X', value: 'METHOD', parameter: 'method', about: 'method of the request (default: GET)' },
      { name: 'header', letter: 'H', value: 'FIELD', parameter: 'header', repeated: true, about: '"Name: value", may be repeated' },
      { name: 'client', value: 'ADDRESS', parameter: 'client', about: 'address of the client (default: 127.0.0.1)' },
      { name: 'listen', value: 'ADDRESS', parameter: 'listen', about: 'address that the client connects to (default: that of the URL)' },
    ],
    call: (args) => ({ method: 'GET', path: '/v1/explain', query: { url: args.operand('URL') } }),
    show: (response) =>
      explanationText({ log: [], ...(response as Omit<Explanation, 'log'>) })
        .trimEnd()
        .split('\n')
        .map(printable),
  },
  {
    words: 'events',
    about: 'follow the events of the server until it is interrupted',
    options: [
      { name: 'types', value: 'LIST', parameter: 'types', about: 'types of events: config.changed,member.state' },
      { name: 'after', value: 'ID', parameter: 'last_event_id', about: 'also the events after this one' },
      { name: 'count', value: 'N', about: 'end after so many events' },
    ],
    notes: [
      'Connects again when the connection is lost, and misses no event that the server still has.',
      'With --json each line is one event.',
    ],
    follows: true,
    call: () => ({ method: 'GET', path: '/v1/events' }),
    show: done,
  },
  {
    words: 'tail',
    about: 'follow the access and error logs of the server until it is interrupted',
    operands: [{ name: 'FILTER', about: "terms that all have to be true: 'server=shop.example status>=500 time>1s'", optional: true }],
    options: [{ name: 'count', value: 'N', about: 'end after so many lines' }],
    notes: [
      'Fields: kind (access, error), server, host, client, method, path, status, time, upstream, level, request_id.',
      'Operators: = != < <= > >=. A status may be a group, 5xx; a client may be a network.',
      'With --json each line is one entry.',
    ],
    follows: true,
    call: (args) => ({ method: 'GET', path: '/v1/logs/stream', query: defined({ filter: args.optional('FILTER') }) }),
    show: done,
    line: (data) => [printable(logLine(data))],
  },
];
