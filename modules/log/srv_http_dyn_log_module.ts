import { dirname, join } from 'node:path';
import { path } from '../../core/contract/args.js';
import { coreModule } from '../../core/contract/manifest.js';
import { inPlaceOf, KnownLines, objectSchema } from '../../core/toolkit/setting-fields.js';
import { arePrintable, namedField, type NamedItem } from '../../core/toolkit/setting-named.js';
import { fieldSet, type ChangedFields, type Setting, type SettingCall, type SettingSurroundings } from '../../core/contract/setting.js';
import { directive } from '../../core/contract/spec.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import type { Directive, NewDirective } from '../../core/contract/tree.js';
import { accessSync, constants } from 'node:fs';

const directives = {
  api_log_folder: directive({
    in: ['http'],
    args: path(),
    doc: 'Folder in which the API may create access logs. Without it: none.',
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

interface Log {
  /** Name of the file in the folder of the API. */
  readonly path: string;
  readonly formatName?: string;
}
interface Logs {
  readonly accessLogOn?: boolean;
  readonly accessLogs?: readonly Log[];
}

/** One file, without folders and variables. */
const FILE_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;

/** Logs that the configuration file writes elsewhere are neither shown nor changed. */
const logs = fieldSet<Logs>({
  fields: {
    accessLogOn: { type: 'boolean', description: 'false: nothing is logged here.' },
    accessLogs: {
      type: 'array',
      description: 'Logs in the folder of the API (`api_log_folder`).',
      items: objectSchema({
        path: { type: 'string', description: 'Name of the file, without a folder.' },
        'formatName?': { type: 'string', minLength: 1, maxLength: 200, description: 'A format (combined).' },
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

/** Where the API may create logs; undefined: nowhere. */
function folderOf(around: SettingSurroundings): { readonly written: string; readonly path: string } | undefined {
  const [line] = around.lines('api_log_folder');
  const written = line?.args[0]?.text;
  return written === undefined ? undefined : { written, path: around.path(written) };
}

/** Undefined for a log of the configuration file somewhere else. */
function shownLog({ args: [file, format] }: Directive, around: SettingSurroundings): Log | undefined {
  const folder = folderOf(around);
  const text = file?.text ?? '';
  const absolute = around.path(text);
  const name = absolute.slice(absolute.lastIndexOf('/') + 1);
  if (folder === undefined || text.includes('$') || dirname(absolute) !== folder.path || !FILE_NAME.test(name)) return undefined;
  return { path: name, formatName: format === undefined || format.text.includes('=') ? 'combined' : format.text };
}

function wantedLogs(
  { accessLogs }: ChangedFields<Logs>,
  mine: readonly Directive[],
  call: SettingCall,
): readonly (Directive | NewDirective)[] {
  const known = new KnownLines(mine, (line) => shownLog(line, call));
  const folder = folderOf(call);
  return (accessLogs ?? []).flatMap(({ path: name, formatName = 'combined' }, i) => {
    const place = `/accessLogs/${i}`;
    const line = known.take({ path: name, formatName });
    if (line !== undefined) return line;
    const error = folder === undefined ? 'the configuration has no "api_log_folder"' : (nameError(name) ?? folderError(folder.path));
    if (error !== undefined) call.reject(`${place}/path`, error);
    if (/[$=]/.test(formatName)) call.reject(`${place}/formatName`, 'must be the name of a format');
    return { name: 'access_log', words: [join(folder?.written ?? '', name), formatName], pointer: `${call.pointer}${place}` };
  });
}

function nameError(name: string): string | undefined {
  return FILE_NAME.test(name) ? undefined : 'must be the name of a file: letters, digits, ".", "_" and "-", without a folder';
}

/** Found here, so that no error shows the path. */
function folderError(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    return `cannot write into the folder of "api_log_folder" (${systemErrorText(error)})`;
  }
}

const setting: Setting = {
  key: 'http_log',
  summary: 'access logs and their formats',
  engine: 'http',
  uses: ['api_log_folder'],
  global: [formats],
  server: [logs],
  location: [logs],
};

/** Access logs, changed at run time: `/v1/config/http_log`. The directives are access_log and log_format. */
@coreModule({ name: 'srv_http_dyn_log_module', api: '1.2', directives, settings: [setting] })
export class DynLog {}
