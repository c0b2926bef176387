import { choice, flag, number, text } from '../../core/contract/args.js';
import { coreModule } from '../../core/contract/manifest.js';
import type { FieldSet, Setting } from '../../core/contract/setting.js';
import type { JsonSchema } from '../../core/contract/spec.js';
import { argumentField, inPlaceOf, listField, objectSchema } from '../../core/toolkit/setting-fields.js';
import { METHODS, RULES, STALE } from './directives.js';

interface Validity {
  readonly statuses?: readonly (number | string)[];
  readonly time: string;
}

/** Characters that would end a line of a log, or of a field. */
const CONTROLS = /[\u0000-\u001f\u007f]/;
const TIME = String.raw`^\d+(ms|[smhdwMy])?(\d+(ms|[smhdwMy]))*$`;
const STATUS = { type: ['integer', 'string'], minimum: 100, maximum: 599, pattern: '^any$', description: 'a status, or "any"' };

const valid = listField<Validity>({
  field: 'proxy_cache_valid',
  doc: 'Times for which responses are fresh that say nothing of it themselves.',
  item: objectSchema({
    'statuses?': { type: 'array', items: STATUS, description: 'None: 200, 301 and 302.' },
    time: { type: 'string', pattern: TIME, description: 'a time: 10m, 1h30m; 0: not stored' },
  }),
  directives: ['proxy_cache_valid'],
  show({ args }) {
    const words = args.map(({ text: word }) => word);
    const statuses = words.slice(0, -1).map((word) => (word === 'any' ? word : Number(word)));
    return { ...(statuses.length > 0 && { statuses }), time: words.at(-1) ?? '' };
  },
  line: ({ statuses = [], time }, place, { pointer }) => ({
    name: 'proxy_cache_valid',
    words: [...statuses.map(String), time],
    pointer: `${pointer}${place}`,
  }),
});

/** A field that is a list of the words of one directive. */
function wordsField(name: string, item: JsonSchema, doc: string): FieldSet {
  return {
    fields: { [name]: { type: 'array', items: item, minItems: 1, description: doc } },
    directives: [name],
    read: ([line]) => (line === undefined ? {} : { [name]: line.args.map(({ text: word }) => word) }),
    write: ({ [name]: value }, [line], call) => {
      if (value === null || value === undefined) return [];
      const words = value as readonly string[];
      for (const [at, word] of words.entries())
        if (CONTROLS.test(word)) call.reject(`/${name}/${at}`, 'must be text without control characters');
      return [inPlaceOf(line, { name, words, pointer: `${call.pointer}/${name}` })];
    },
  };
}

const CONDITION = {
  type: 'string',
  minLength: 1,
  maxLength: 1000,
  description: 'A text with variables: it holds if it is neither empty nor "0".',
};

const fields: readonly FieldSet[] = [
  argumentField('proxy_cache', text('zone | off'), 'The cache: a zone that the configuration file declares, or "off".'),
  valid,
  wordsField('proxy_cache_bypass', CONDITION, 'Responses are not taken from the cache if one of them holds.'),
  wordsField('proxy_no_cache', CONDITION, 'Responses are not stored if one of them holds.'),
  wordsField('proxy_cache_use_stale', { type: 'string', enum: [...STALE] }, 'Cases in which a stale response is used.'),
  wordsField('proxy_cache_methods', { type: 'string', enum: [...METHODS] }, 'Methods whose responses are stored.'),
  argumentField('proxy_cache_min_uses', number({ min: 1 }), 'Requests after which a response is stored.'),
  argumentField('proxy_cache_lock', flag(), 'One request for a new key is passed on; the others wait for its response.'),
  argumentField('proxy_cache_lock_streaming', flag(), 'Requests that wait for the same response get it while it arrives.'),
  argumentField('proxy_cache_background_update', flag(), 'Responses are renewed while the stale one is used.'),
  argumentField('proxy_cache_rules', choice(...RULES), 'The rules by which responses are stored and used.'),
  argumentField('proxy_cache_status', flag(), 'Responses have the field Cache-Status.'),
  argumentField('proxy_cache_revalidate', flag(), 'Responses are renewed by conditional requests.'),
];

const setting: Setting = {
  key: 'http_cache',
  summary: 'caches for responses of members',
  engine: 'http',
  server: fields,
  location: fields,
};

/** Caches of locations, changed at run time: `/v1/config/http_cache`. The directives are proxy_cache and its options. */
@coreModule({ name: 'srv_http_dyn_cache_module', api: '1.2', settings: [setting] })
export class DynCache {}
