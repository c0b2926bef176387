import { done, type Command } from '../command.js';

export const TOP: readonly Command[] = [
  {
    words: 'top',
    about: 'show what is wrong, rates, times, upstreams and servers, again and again',
    options: [
      { name: 'once', about: 'print one screen' },
      { name: 'interval', value: 'SECONDS', about: 'time between two screens (default: 1)' },
      { name: 'sort', value: 'COLUMN', about: 'requests, errors, p99 or name: order of the servers (default: requests)' },
    ],
    notes: [
      'Keys: q ends it; r, e, p and n sort by requests, errors, p99 and name.',
      'Without a terminal it prints one screen. With --json it prints the figures of one screen.',
    ],
    redraws: true,
    call: () => ({ method: 'GET', path: '/v1/vts' }),
    show: done,
  },
];
