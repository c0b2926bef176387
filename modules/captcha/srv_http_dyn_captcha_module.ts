import { choice, flag } from '../../core/contract/args.js';
import { coreModule } from '../../core/contract/manifest.js';
import { fieldSet, type FieldSet, type Setting } from '../../core/contract/setting.js';
import { expiry, RATE } from './directives.js';
import { argumentField, inPlaceOf, objectSchema } from '../../core/toolkit/setting-fields.js';

interface Limit {
  readonly zone: string;
  readonly rate: number;
  readonly verified?: number;
}

const VERIFIED = 'verified=';

/** Zones are declared in the file: shared memory is not for an API to create. */
const limit = fieldSet<{ readonly captcha_limit_rate?: Limit }>({
  fields: {
    captcha_limit_rate: {
      ...objectSchema({
        zone: { type: 'string', minLength: 1, maxLength: 200, description: 'A zone that the configuration file declares.' },
        rate: { ...RATE.json.schema, description: 'Requests per second and key.' },
        'verified?': { ...RATE.json.schema, description: 'Requests per second that the cookie of a solution allows.' },
      }),
      description: 'The rate above which clients are challenged (`captcha_limit_rate`).',
    },
  },
  directives: ['captcha_limit_rate'],
  read([line]) {
    if (line === undefined) return {};
    const words = line.args.map(({ text }) => text);
    const verified = words.find((word) => word.startsWith(VERIFIED))?.slice(VERIFIED.length);
    const [zone = '', rate] = words.filter((word) => !word.startsWith(VERIFIED));
    return { captcha_limit_rate: { zone, rate: Number(rate), ...(verified !== undefined && { verified: Number(verified) }) } };
  },
  write({ captcha_limit_rate: value }, [line], call) {
    if (value === null || value === undefined) return [];
    const words = [value.zone, String(value.rate), ...(value.verified === undefined ? [] : [`${VERIFIED}${value.verified}`])];
    return [inPlaceOf(line, { name: 'captcha_limit_rate', words, pointer: `${call.pointer}/captcha_limit_rate` })];
  },
});

const fields: readonly FieldSet[] = [
  argumentField('captcha', flag(), 'Challenges for clients above the rate.'),
  limit,
  argumentField('captcha_mode', choice('auto', 'image', 'pow'), 'Work for the browser (`pow`), a picture (`image`), or both (`auto`).'),
  argumentField('captcha_expire', expiry(), 'How long a solution is valid.'),
];

const setting: Setting = {
  key: 'http_dyn_captcha',
  summary: 'challenges for clients above a rate',
  engine: 'http',
  server: fields,
  location: fields,
};

/** Challenges, changed at run time: `/v1/config/http_dyn_captcha`. */
@coreModule({ name: 'srv_http_dyn_captcha_module', api: '1.2', settings: [setting] })
export class DynCaptcha {}
