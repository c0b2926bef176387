import {
  choice,
  flag,
  number,
  optional,
  param,
  requiredParam,
  rest,
  size,
  template,
  text,
  time,
  zone,
  zoneName,
  zoneSync,
} from '../../core/contract/args.js';
import type { Duration } from '../../core/contract/duration.js';
import { file } from '../../core/contract/file.js';
import { ArgError, directive, type ArgType, type Conf } from '../../core/contract/spec.js';
import { parsePage } from './page-template.js';
import { parseSecrets } from './secrets.js';
import { HIGHEST_RATE } from './sliding-second.js';
import { parseTexts } from './texts.js';

const ANYWHERE = ['http', 'server', 'location'] as const;
/** Directives that the responses to solutions need: no location is chosen for these requests. */
const SITE = ['http', 'server'] as const;

const SHORTEST_EXPIRY = 1000;

/** The time that a solution is valid. A cookie has seconds. */
export function expiry(): ArgType<number, Duration> {
  const base = time({ calendar: true });
  return {
    ...base,
    parse(value, context, written) {
      const ms = base.parse(value, context, written);
      if (ms < SHORTEST_EXPIRY) throw new ArgError(`invalid value "${value}"`, 'a second at least: 1s');
      return ms;
    },
  };
}

export const RATE = number({ min: 1, max: HIGHEST_RATE });

export const directives = {
  captcha: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    dynamic: true,
    doc: 'Clients above the rate of `captcha_limit_rate` get a challenge, with status 429, until they have solved it.',
  }),
  captcha_zone: directive({
    in: ['http'],
    args: { key: template('key'), zone: requiredParam('zone', zone({ sync: 'count' })), sync: zoneSync() },
    many: true,
    identity: ({ args }) => args.find(({ text: word }) => word.startsWith('zone='))?.text ?? '',
    doc: 'Shared memory with the requests of each key in the last second. Requests with an empty key are not counted.',
    argDocs: { sync: 'Requests to all nodes count, over the `redis` block of that name or the only one.' },
  }),
  captcha_limit_rate: directive({
    in: ANYWHERE,
    args: { zone: text('zone'), rate: RATE, verified: param('verified', RATE) },
    dynamic: true,
    doc: 'A zone, and the requests per second and key above which clients are challenged. `verified`: requests per second that the cookie of a solution allows; default: ten times as many, at least 100.',
  }),
  captcha_mode: directive({
    in: ANYWHERE,
    args: choice('auto', 'image', 'pow'),
    default: 'auto',
    dynamic: true,
    doc: 'The challenge: a picture to read (or sounds to count), work for the browser (pow), or work where scripts run and a picture elsewhere (auto).',
  }),
  captcha_sound: directive({
    in: SITE,
    args: choice('auto', 'on', 'off'),
    default: 'auto',
    doc: 'Sounds to count, for people who cannot see the picture. Programs count them more easily than they read pictures: with `auto` they are there where work is a solution as well (`captcha_mode auto`), and not valid where only pictures are.',
  }),
  captcha_expire: directive({
    in: ANYWHERE,
    args: expiry(),
    default: '1h',
    dynamic: true,
    doc: 'How long a solution is valid.',
  }),
  captcha_bypass: directive({
    in: ANYWHERE,
    args: { conditions: rest(template()) },
    doc: 'Requests are not counted if one of these texts is neither empty nor "0".',
  }),
  captcha_secret: directive({
    in: SITE,
    args: { secret: optional(text('secret')), former: optional(text('former')), file: param('file', file(parseSecrets)) },
    doc: 'Signs the cookies of clients that have solved a challenge; cookies signed with the former secret are valid too. A file has them in its first two lines. Default: random bytes, other ones after each start.',
  }),
  captcha_session_zone: directive({
    in: ['http'],
    args: { name: zoneName({ sync: 'last' }), size: size({ min: '32k' }), sync: zoneSync() },
    doc: 'Shared memory with the attempts of clients at challenges, and with solved challenges. A full zone drops the ones that were used longest ago. Default: 1m.',
    argDocs: {
      sync: 'A solution counts once on all nodes, over the `redis` block of that name or the only one. They need the same `captcha_secret`.',
    },
  }),
  captcha_redirect_uri_file: directive({
    in: SITE,
    args: file(parsePage),
    doc: 'Template of the page with the challenge.',
  }),
  captcha_text_file: directive({
    in: SITE,
    args: file(parseTexts),
    doc: 'Texts of the page in further languages, or in other words, as JSON.',
  }),
};

export type CaptchaConf = Conf<typeof directives>;
