/** Targets of logs that the API may set: files of one folder, and syslog servers that the configuration names. */
import { accessSync, constants } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SettingCall, SettingSurroundings } from '../../core/contract/setting.js';
import { systemErrorText } from '../../core/contract/system-error.js';

/** A target as the API has it: one of the two. */
export interface ApiTarget {
  /** Name of a file in the folder of the API. */
  readonly path?: string;
  /** Name that `api_syslog` gives to a server. */
  readonly syslog?: string;
}

/** Fields of a target in the schema of an item. */
export const TARGET_FIELDS = {
  'path?': { type: 'string', description: 'Name of a file in the folder of `api_log_folder`, without a folder.' },
  'syslog?': { type: 'string', maxLength: 200, description: 'Name of a syslog server (`api_syslog`), instead of a file.' },
};

/** Directives that targets depend on. */
export const TARGET_DIRECTIVES = ['api_log_folder', 'api_syslog'];

/** One file, without folders and variables. */
const FILE_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;

/** @param text argument of a log @returns undefined: the configuration file has the log somewhere else */
export function shownTarget(text: string, around: SettingSurroundings): ApiTarget | undefined {
  if (text.startsWith('syslog:')) {
    const line = around.lines('api_syslog').find(({ args: [, server] }) => server?.text === text);
    return line && { syslog: line.args[0]?.text ?? '' };
  }
  const folder = folderOf(around);
  const absolute = around.path(text);
  const name = absolute.slice(absolute.lastIndexOf('/') + 1);
  if (folder === undefined || text.includes('$') || dirname(absolute) !== folder.path || !FILE_NAME.test(name)) return undefined;
  return { path: name };
}

/** The argument of a log. Rejects invalid targets. @param place JSON pointer of the item */
export function targetWord({ path, syslog }: ApiTarget, place: string, call: SettingCall): string {
  if ((path === undefined) === (syslog === undefined)) {
    call.reject(`${place}/path`, 'either "path" or "syslog" is required');
    return '';
  }
  if (path !== undefined) return filePath(path, place, call);
  const line = call.lines('api_syslog').find(({ args: [name] }) => name?.text === syslog);
  if (line === undefined) call.reject(`${place}/syslog`, 'must be a name that "api_syslog" gives to a server');
  return line?.args[1]?.text ?? '';
}

function filePath(name: string, place: string, call: SettingCall): string {
  const folder = folderOf(call);
  const error = folder === undefined ? 'the configuration has no "api_log_folder"' : (nameError(name) ?? folderError(folder.path));
  if (error !== undefined) call.reject(`${place}/path`, error);
  return join(folder?.written ?? '', name);
}

/** Where the API may create logs; undefined: nowhere. */
function folderOf(around: SettingSurroundings): { readonly written: string; readonly path: string } | undefined {
  const [line] = around.lines('api_log_folder');
  const written = line?.args[0]?.text;
  return written === undefined ? undefined : { written, path: around.path(written) };
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
