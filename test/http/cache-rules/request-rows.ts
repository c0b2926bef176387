/** Directives of requests, stale responses and unsafe methods (RFC 9111, 4.2.4, 4.4 and 5.2.1; RFC 5861). */
import { asked, first, row, still, stored, validated, type Row, type Step } from './row.js';

const HOUR = 'Cache-Control: max-age=3600';
const AGED = 'Age: 100';
const TAG = 'ETag: "a"';
const MODIFIED = 'Last-Modified: {-10000}';

const control = (value: string, more: Step = {}): Step => ({ ...more, asks: [`Cache-Control: ${value}`] });
const UNSAFE = ['POST', 'PUT', 'DELETE', 'PATCH', 'M-SEARCH'];
const OTHER: Step = { path: '/other' };

export const requestRows: readonly Row[] = [
  row('9111 5.2.1.1', 'max-age=0', first(HOUR), asked(control('max-age=0'))),
  row('9111 5.2.1.1', 'max-age below the age', first(HOUR, 'Age: 1800'), asked(control('max-age=600'))),
  row('9111 5.2.1.1', 'max-age above the age', first(HOUR, AGED), stored(control('max-age=600'))),
  row('9111 5.2.1.1', 'max-age that is not a number', first(HOUR), asked(control('max-age=a'))),
  row(
    '9111 5.2.1.2',
    'max-stale',
    first('Cache-Control: max-age=10', AGED, TAG),
    stored(control('max-stale=1000', { has: ['Age: /^1\\d\\d$/'] })),
  ),
  row('9111 5.2.1.2', 'max-stale of any time', first('Cache-Control: max-age=10', AGED, TAG), stored(control('max-stale'))),
  row('9111 5.2.1.2', 'max-stale that is too short', first('Cache-Control: max-age=10', AGED, TAG), validated(control('max-stale=50'))),
  row(
    '9111 5.2.2.2',
    'max-stale of a must-revalidate',
    first('Cache-Control: max-age=10, must-revalidate', AGED, TAG),
    validated(control('max-stale=1000')),
  ),
  row('9111 5.2.1.3', 'min-fresh above the rest', first('Cache-Control: max-age=1500'), asked(control('min-fresh=2000'))),
  row(
    '9111 5.2.1.3',
    'min-fresh above the rest of an aged one',
    first('Cache-Control: max-age=1500', 'Age: 1000'),
    asked(control('min-fresh=1000')),
  ),
  row('9111 5.2.1.3', 'min-fresh below the rest', first('Cache-Control: max-age=1500'), stored(control('min-fresh=1000'))),
  row('9111 5.2.1.4', 'no-cache', first(HOUR), asked(control('no-cache'))),
  row('9111 5.2.1.4', 'no-cache with an ETag', first(HOUR, TAG), validated(control('no-cache', { sent: ['If-None-Match: "a"'] }))),
  row(
    '9111 5.2.1.4',
    'no-cache with Last-Modified',
    first(HOUR, MODIFIED),
    validated(control('no-cache', { sent: ['If-Modified-Since: /GMT$/'] })),
  ),
  row('9111 5.2.1.5', 'no-store', { ...control('no-store'), ...first(HOUR) }, asked()),
  row('9111 5.2.1.7', 'only-if-cached of what is not stored', { ...control('only-if-cached'), from: 'stored', gets: 504 }),
  row('9111 5.2.1.7', 'only-if-cached of what is stored', first(HOUR), stored(control('only-if-cached', { gets: 200 }))),
  row('9111 5.2.1.7', 'only-if-cached of what is stale', first('Cache-Control: max-age=10', AGED, TAG), {
    ...control('only-if-cached'),
    gets: 504,
    from: 'stored',
  }),

  row(
    '5861 3',
    'stale-while-revalidate: stale, and new for the next',
    first('Cache-Control: max-age=10, stale-while-revalidate=3600', AGED, TAG),
    {
      fields: [HOUR, 'ETag: "b"'],
      has: ['ETag: "a"', 'Age: /^1\\d\\d$/'],
      hasBody: 'body',
      body: 'new',
    },
    stored({ has: ['ETag: "b"'], hasBody: 'new' }),
  ),
  row(
    '5861 3',
    'stale-while-revalidate that is over',
    first('Cache-Control: max-age=10, stale-while-revalidate=20', AGED, TAG),
    validated(),
  ),
  row(
    '5861 3',
    'stale-while-revalidate with must-revalidate',
    first('Cache-Control: max-age=10, must-revalidate, stale-while-revalidate=3600', AGED, TAG),
    validated(),
  ),
  row('5861 4', 'stale-if-error: a 500', first('Cache-Control: max-age=10, stale-if-error=3600', AGED), {
    status: 500,
    gets: 200,
    hasBody: 'body',
    has: ['Age: /^1\\d\\d$/'],
  }),
  row('5861 4', 'stale-if-error: no response', first('Cache-Control: max-age=10, stale-if-error=3600', AGED), {
    status: 'cut',
    gets: 200,
    hasBody: 'body',
  }),
  row('5861 4', 'stale-if-error that is over', first('Cache-Control: max-age=10, stale-if-error=20', AGED, TAG), {
    status: 500,
    gets: 500,
  }),
  row('5861 4', 'stale-if-error of the request', first('Cache-Control: max-age=10', AGED, TAG), {
    ...control('stale-if-error=3600'),
    status: 500,
    gets: 200,
  }),
  row('5861 4', 'stale-if-error of the request that is over', first('Cache-Control: max-age=10', AGED, TAG), {
    ...control('stale-if-error=20'),
    status: 500,
    gets: 500,
  }),
  row('9111 4.2.4', 'without a permission nothing stale is used', first('Cache-Control: max-age=10', AGED, TAG), {
    status: 503,
    gets: 503,
  }),
  {
    ...row('9111 4.2.4', 'proxy_cache_use_stale: no response', first('Cache-Control: max-age=10', AGED, TAG), { status: 'cut', gets: 200 }),
    at: '/stale/',
  },
  {
    ...row('9111 4.2.4', 'proxy_cache_use_stale: a 503', first('Cache-Control: max-age=10', AGED, TAG), { status: 503, gets: 200 }),
    at: '/stale/',
  },
  ...['must-revalidate', 'proxy-revalidate', 's-maxage=10', 'no-cache'].map((word) => ({
    ...row('9111 4.2.4', `${word} is never used stale`, first(`Cache-Control: max-age=10, ${word}`, AGED, TAG), {
      status: 'cut',
      gets: 502,
    } as const),
    at: '/stale/',
  })),

  ...UNSAFE.flatMap((method): Row[] => [
    row('9111 4.4', `${method} removes`, first(HOUR), stored(), asked({ method }), asked()),
    row('9111 4.4', `${method} that fails does not`, first(HOUR), stored(), asked({ method, status: 500 }), still()),
    row(
      '9111 4.4',
      `${method} removes the Location`,
      { ...OTHER, ...first(HOUR) },
      stored(OTHER),
      asked({ method, status: 201, fields: [`Location: {path}/other`] }),
      asked({ ...OTHER, fields: [HOUR] }),
    ),
    row(
      '9111 4.4',
      `${method} removes the Content-Location`,
      { ...OTHER, ...first(HOUR) },
      stored(OTHER),
      asked({ method, fields: ['Content-Location: {path}/other'] }),
      asked({ ...OTHER, fields: [HOUR] }),
    ),
  ]),
  row(
    '9111 4.4',
    'a Location of another origin stays',
    { ...OTHER, ...first(HOUR) },
    stored(OTHER),
    asked({ method: 'POST', fields: ['Location: http://elsewhere.test{path}/other'] }),
    still({ ...OTHER, fields: [HOUR] }),
  ),
  row('9111 4.4', 'OPTIONS removes nothing', first(HOUR), stored(), asked({ method: 'OPTIONS' }), still()),
  row('9111 3', 'the response to a POST is not stored', { method: 'POST', ...first(HOUR) }, asked(), stored(), asked({ method: 'POST' })),
];
