import { number, time } from '../../core/contract/args.js';
import { coreModule } from '../../core/contract/manifest.js';
import { argumentSchema, argumentText, inPlaceOf, shownArgument } from '../../core/toolkit/setting-fields.js';
import { fieldSet, type Setting } from '../../core/contract/setting.js';
import type { ArgType, JsonSchema } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';

interface Faults {
  readonly fault_inject_type?: string;
  readonly delay_duration?: unknown;
  readonly delay_percentage?: unknown;
  readonly abort_percentage?: unknown;
  readonly status_code?: unknown;
}

const percentage: ArgType<number, number> = {
  ...number({ max: 100 }),
  parse: Number,
  json: { schema: { type: 'number', minimum: 0, maximum: 100 }, show: (value) => value, text: String },
};

/** Parameters of the directive beside its type, in the order in which they are written. */
const PARAMETERS = {
  delay_duration: { type: time() as ArgType<never>, doc: 'Time by which a request is delayed.' },
  delay_percentage: { type: percentage as ArgType<never>, doc: 'Percentage of requests that are delayed (100).' },
  abort_percentage: { type: percentage as ArgType<never>, doc: 'Percentage of requests that are aborted (100).' },
  status_code: { type: number({ min: 200, max: 599 }) as ArgType<never>, doc: 'Status of the response to an aborted request (503).' },
} as const;
type Parameter = keyof typeof PARAMETERS;
const NAMES = Object.keys(PARAMETERS) as readonly Parameter[];

const TYPE: JsonSchema = { type: 'string', enum: ['none', 'delay', 'abort', 'delay_abort'], description: 'Kind of fault.' };

const faults = fieldSet<Faults>({
  fields: {
    fault_inject_type: TYPE,
    ...(Object.fromEntries(NAMES.map((name) => [name, schemaOf(name)])) as Record<Parameter, JsonSchema>),
  },
  directives: ['fault_inject'],
  read: ([line]) => (line === undefined ? {} : shown(line)),
  write(fields, [line], call) {
    const wanted = { ...(line && shown(line)), ...fields };
    if (wanted.fault_inject_type === null) return [];
    if (wanted.fault_inject_type === undefined) call.reject('/fault_inject_type', 'is required');
    const words = NAMES.flatMap((name) => {
      const value = wanted[name];
      if (value === undefined || value === null) return [];
      const text = argumentText(PARAMETERS[name].type, value as never, `/${name}`, call);
      return text === undefined ? [] : `${name}=${text}`;
    });
    const condition = line?.args.filter(({ text }) => text.startsWith('if=')).map(({ text }) => text) ?? [];
    const by = { name: 'fault_inject', words: [`type=${wanted.fault_inject_type}`, ...words, ...condition], pointer: call.pointer };
    return [inPlaceOf(line, by)];
  },
});

function schemaOf(name: Parameter): JsonSchema {
  const { type, doc } = PARAMETERS[name];
  return argumentSchema(type, doc);
}

function shown({ args }: Directive): Faults {
  const texts = new Map(args.map(({ text }) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]));
  const parameters = NAMES.flatMap((name) => {
    const text = texts.get(name);
    return text === undefined ? [] : [[name, shownArgument(PARAMETERS[name].type, text)]];
  });
  return { fault_inject_type: texts.get('type') ?? 'none', ...(Object.fromEntries(parameters) as Faults) };
}

const setting: Setting = {
  key: 'http_dyn_fault_inject',
  summary: 'delays and errors that are injected for tests of resilience',
  engine: 'http',
  location: [faults],
};

/** Injected faults, changed at run time: `/v1/config/http_dyn_fault_inject`. The directive is fault_inject. */
@coreModule({ name: 'srv_http_dyn_fault_inject_module', api: '1.2', settings: [setting] })
export class DynFaultInject {}
