import { accessSync, constants } from 'node:fs';
import { confPath, text } from '../../core/contract/args.js';
import { coreModule } from '../../core/contract/manifest.js';
import { inPlaceOf } from '../../core/toolkit/setting-fields.js';
import { arePrintable } from '../../core/toolkit/setting-named.js';
import { fieldSet, type Setting, type SettingCall, type SettingLine, type SettingSurroundings } from '../../core/contract/setting.js';
import { directive } from '../../core/contract/spec.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import type { Directive } from '../../core/contract/tree.js';

const directives = {
  api_user_file: directive({
    in: ['http'],
    args: { name: text('name'), file: confPath() },
    many: true,
    doc: 'A file of users that the API may set by this name as `auth_basic_user_file`.',
  }),
};

interface Auth {
  readonly auth_basic?: string;
  readonly auth_basic_user_file?: string;
}

/** Files of users are shown and set by the names that the configuration file gives them, never by their paths. */
const auth = fieldSet<Auth>({
  fields: {
    auth_basic: { type: 'string', maxLength: 200, description: 'The realm that clients show, or `off`.' },
    auth_basic_user_file: { type: 'string', maxLength: 200, description: 'Name of a file of users (`api_user_file`).' },
  },
  directives: ['auth_basic', 'auth_basic_user_file'],
  read(lines, around) {
    const realm = lineOf(lines, 'auth_basic')?.args[0]?.text;
    const file = nameOfFile(lineOf(lines, 'auth_basic_user_file'), around);
    return { ...(realm !== undefined && { auth_basic: realm }), ...(file !== undefined && { auth_basic_user_file: file }) };
  },
  write({ auth_basic: realm, auth_basic_user_file: file }, lines, call) {
    const realmLines = realm === undefined ? known(lines, 'auth_basic') : realmLine(realm, lines, call);
    const fileLines = file === undefined ? known(lines, 'auth_basic_user_file') : fileLine(file, lines, call);
    const left = realm === undefined ? lineOf(lines, 'auth_basic')?.args[0]?.text : (realm ?? 'off');
    // Without a file no password is required.
    if (left !== undefined && left !== 'off' && fileLines.length === 0)
      call.reject('/auth_basic_user_file', 'is required where "auth_basic" is set');
    return [...realmLines, ...fileLines];
  },
});

const lineOf = (lines: readonly Directive[], wanted: string): Directive | undefined => lines.find(({ name }) => name === wanted);
const known = (lines: readonly Directive[], wanted: string): readonly Directive[] => lines.filter(({ name }) => name === wanted);

function realmLine(realm: string | null, lines: readonly Directive[], call: SettingCall): readonly SettingLine[] {
  if (realm === null || !arePrintable({ auth_basic: realm }, '', call)) return [];
  if (realm.includes('$')) call.reject('/auth_basic', 'variables are not supported');
  return [inPlaceOf(lineOf(lines, 'auth_basic'), { name: 'auth_basic', words: [realm], pointer: `${call.pointer}/auth_basic` })];
}

function fileLine(name: string | null, lines: readonly Directive[], call: SettingCall): readonly SettingLine[] {
  if (name === null) return [];
  const place = '/auth_basic_user_file';
  const file = filesOf(call).get(name);
  const error = file === undefined ? 'must be a name that "api_user_file" gives to a file' : readError(call.path(file, 'conf'));
  if (error !== undefined) call.reject(place, error);
  const by = { name: 'auth_basic_user_file', words: [file ?? ''], pointer: `${call.pointer}${place}` };
  return [inPlaceOf(lineOf(lines, 'auth_basic_user_file'), by)];
}

/** Found here, so that no error shows the path. */
function readError(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK);
    return undefined;
  } catch (error) {
    return `cannot read the file (${systemErrorText(error)})`;
  }
}

/** Paths as they are written, by name. */
function filesOf(around: SettingSurroundings): ReadonlyMap<string, string> {
  return new Map(around.lines('api_user_file').map(({ args: [name, file] }) => [name?.text ?? '', file?.text ?? '']));
}

function nameOfFile(line: Directive | undefined, around: SettingSurroundings): string | undefined {
  const written = line?.args[0]?.text;
  if (written === undefined || written.includes('$')) return undefined;
  const path = around.path(written, 'conf');
  return [...filesOf(around)].find(([, file]) => around.path(file, 'conf') === path)?.[0];
}

const setting: Setting = {
  key: 'http_dyn_auth',
  summary: 'access with user name and password',
  engine: 'http',
  uses: ['api_user_file'],
  server: [auth],
  location: [auth],
};

/** Access with user name and password, changed at run time: `/v1/config/http_dyn_auth`. */
@coreModule({ name: 'srv_http_dyn_auth_module', api: '1.2', directives, settings: [setting] })
export class DynAuth {}
