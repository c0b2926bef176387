import { argType } from '../../core/contract/arg-type.js';
import { path, text } from '../../core/contract/args.js';
import { coreModule } from '../../core/contract/manifest.js';
import { fieldSet, type ChangedFields, type Setting, type SettingCall, type SettingSurroundings } from '../../core/contract/setting.js';
import { ArgError, directive } from '../../core/contract/spec.js';
import type { Directive, NewDirective } from '../../core/contract/tree.js';
import { namesSyslog } from '../../core/toolkit/open-log.js';
import { inPlaceOf, KnownLines, objectSchema } from '../../core/toolkit/setting-fields.js';
import { arePrintable, namedField, type NamedItem } from '../../core/toolkit/setting-named.js';
import { shownTarget, TARGET_DIRECTIVES, TARGET_FIELDS, targetWord, type ApiTarget } from './api-log-targets.js';
import { errorLogs } from './error-log-setting.js';

const syslogServer = argType<string>({
  kind: 'text',
  form: 'syslog:server=address[,parameter=value]',
  parse(value, context) {
    if (namesSyslog(value, context)) return value;
    throw new ArgError(`invalid syslog server "${value}"`, 'as in syslog:server=10.0.0.1:514,tag=web');
  },
  print: (value) => value,
});

const directives = {
  api_log_folder: directive({
    in: ['http'],
    args: path(),
    doc: 'Folder in which the API may create access logs and error logs. Without it: none.',
  }),
  api_syslog: directive({
    in: ['http'],
    args: { name: text('name'), server: syslogServer },
    many: true,
    doc: 'A syslog server that the API may use by this name as the target of logs.',
  }),
};

interface Format extends NamedItem {
  readonly name: string;
  readonly escape?: string;
  readonly format?: string;
}

const ESCAPES = ['default', 'json', 'none'];

const formats = namedField<Format>({
  field: 'accessLogFormats',
  doc: 'Formats of access logs (`log_format`).',
  noun: 'format',
  directive: 'log_format',
  item: objectSchema({
    name: { type: 'string', minLength: 1, maxLength: 200 },
    'escape?': { type: 'string', enum: ESCAPES },
    'format?': { type: 'string', maxLength: 8000, description: 'The line; it may have variables.' },
  }),
  comes: true,
  name: ({ name }) => name,
  show: shownFormat,
  line(item, known, place, call) {
    const { name, escape, format } = { ...(known && shownFormat(known)), ...item };
    if (/[$=]/.test(name)) call.reject(`${place}/name`, 'must be a name without "$" and "="');
    if (format === undefined) call.reject(`${place}/format`, 'is required');
    if (format === undefined || !arePrintable({ name, format }, place, call)) return undefined;
    return {
      name: 'log_format',
      words: [name, ...(escape === undefined ? [] : [`escape=${escape}`]), format],
      pointer: `${call.pointer}${place}`,
    };
  },
});

function shownFormat({ args: [name, ...others] }: Directive): Format {
  const [first] = others;
  const escape = first?.text.startsWith('escape=') === true ? first.text.slice('escape='.length) : undefined;
  const texts = escape === undefined ? others : others.slice(1);
  return { name: name?.text ?? '', ...(escape !== undefined && { escape }), format: texts.map(({ text }) => text).join('') };
}

interface ObjectKey {
  readonly key: string;
  readonly value: string;
}
interface ObjectFormat extends NamedItem {
  readonly name: string;
  readonly keys?: readonly ObjectKey[];
}

const objects = namedField<ObjectFormat>({
  field: 'accessLogObjects',
  doc: 'Formats of access logs whose lines are JSON objects (`log_json`).',
  noun: 'format',
  directive: 'log_json',
  item: objectSchema({
    name: { type: 'string', minLength: 1, maxLength: 200 },
    'keys?': {
      type: 'array',
      minItems: 1,
      items: objectSchema({
        key: { type: 'string', minLength: 1, maxLength: 200 },
        value: { type: 'string', maxLength: 8000, description: 'It may have variables.' },
      }),
    },
  }),
  comes: true,
  name: ({ name }) => name,
  show: shownObject,
  line(item, known, place, call) {
    const { name, keys = [] } = { ...(known && shownObject(known)), ...item };
    if (/[$=]/.test(name)) call.reject(`${place}/name`, 'must be a name without "$" and "="');
    if (keys.length === 0) call.reject(`${place}/keys`, 'is required');
    const block = keys.flatMap(({ key, value }, i) => {
      const at = `${place}/keys/${i}`;
      if (!arePrintable({ key, value }, at, call)) return [];
      if (key === 'include') call.reject(`${at}/key`, 'must not be "include"');
      return { name: key, words: [value], pointer: `${call.pointer}${at}` };
    });
    return { name: 'log_json', words: [name], block, pointer: `${call.pointer}${place}` };
  },
});

function shownObject({ args: [name], block }: Directive): ObjectFormat {
  const keys = Array.from(block ?? [], ({ name: key, args: [value] }) => ({ key, value: value?.text ?? '' }));
  return { name: name?.text ?? '', keys };
}

interface Log extends ApiTarget {
  readonly formatName?: string;
  readonly condition?: string;
  readonly sample?: number;
}
interface Logs {
  readonly accessLogOn?: boolean;
  readonly accessLogs?: readonly Log[];
}

/** Logs that the configuration file writes elsewhere are neither shown nor changed. */
const logs = fieldSet<Logs>({
  fields: {
    accessLogOn: { type: 'boolean', description: 'false: nothing is logged here.' },
    accessLogs: {
      type: 'array',
      description: 'Logs in files of the API, and at syslog servers that it may use.',
      items: objectSchema({
        ...TARGET_FIELDS,
        'formatName?': { type: 'string', minLength: 1, maxLength: 200, description: 'A format (combined).' },
        'condition?': { type: 'string', minLength: 1, maxLength: 200, description: 'Variables: not logged if empty or `0` (`if=`).' },
        'sample?': { type: 'integer', minimum: 1, maximum: 1_000_000_000, description: 'One of so many requests is logged (`sample=`).' },
      }),
    },
  },
  directives: ['access_log'],
  read(lines, around) {
    const shown = lines.flatMap((line) => shownLog(line, around) ?? []);
    return { ...(lines.length > 0 && { accessLogOn: !lines.some(isOff) }), ...(shown.length > 0 && { accessLogs: shown }) };
  },
  write(fields, lines, call) {
    const off = lines.find(isOff);
    const mine = lines.filter((line) => shownLog(line, call) !== undefined);
    const others = lines.filter((line) => line !== off && !mine.includes(line));
    const isOn = fields.accessLogOn ?? (fields.accessLogOn === null || off === undefined);
    const wanted = fields.accessLogs === undefined ? mine : wantedLogs(fields, mine, call);
    const none = { name: 'access_log', words: ['off'], pointer: `${call.pointer}/accessLogOn` };
    return [...others, ...wanted, ...(isOn ? [] : [inPlaceOf(off, none)])];
  },
});

const isOff = ({ args: [word] }: Directive): boolean => word?.text === 'off';

/** Undefined for a log of the configuration file somewhere else. */
function shownLog({ args: [file, ...words] }: Directive, around: SettingSurroundings): Log | undefined {
  const target = shownTarget(file?.text ?? '', around);
  if (target === undefined) return undefined;
  const [format] = words;
  const value = (name: string): string | undefined => words.find(({ text }) => text.startsWith(name))?.text.slice(name.length);
  const [condition, sample] = [value('if='), value('sample=')];
  return {
    ...target,
    formatName: format === undefined || format.text.includes('=') ? 'combined' : format.text,
    ...(condition !== undefined && { condition }),
    ...(sample !== undefined && { sample: Number(sample) }),
  };
}

function wantedLogs(
  { accessLogs }: ChangedFields<Logs>,
  mine: readonly Directive[],
  call: SettingCall,
): readonly (Directive | NewDirective)[] {
  const known = new KnownLines(mine, (line) => shownLog(line, call));
  return (accessLogs ?? []).flatMap(({ formatName = 'combined', condition, sample, ...target }, i) => {
    const place = `/accessLogs/${i}`;
    const line = known.take({
      ...target,
      formatName,
      ...(condition !== undefined && { condition }),
      ...(sample !== undefined && { sample }),
    });
    if (line !== undefined) return line;
    if (/[$=]/.test(formatName)) call.reject(`${place}/formatName`, 'must be the name of a format');
    if (!arePrintable({ condition }, place, call)) return [];
    const words = [targetWord(target, place, call), formatName];
    if (condition !== undefined) words.push(`if=${condition}`);
    if (sample !== undefined) words.push(`sample=${sample}`);
    return { name: 'access_log', words, pointer: `${call.pointer}${place}` };
  });
}

const setting: Setting = {
  key: 'http_log',
  summary: 'access logs, their formats, and error logs',
  engine: 'http',
  uses: TARGET_DIRECTIVES,
  global: [formats, objects, logs, errorLogs],
  server: [logs, errorLogs],
  location: [logs, errorLogs],
};

/** Logs, changed at run time: `/v1/config/http_log`. The directives are access_log, log_format, log_json and error_log. */
@coreModule({ name: 'srv_http_dyn_log_module', api: '1.2', directives, settings: [setting] })
export class DynLog {}
