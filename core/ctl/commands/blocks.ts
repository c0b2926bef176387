/** Common code of upstreams, locations and virtual servers: blocks of the configuration, named by an address, with directives in them. */
import { defined, type Arguments, type CommandCall, type Operand, type Option } from '../command.js';
import { printable, valueText, type Row } from '../table.js';

export const STREAM: Option = { name: 'stream', about: 'of the stream engine: TCP and UDP' };
export const FORCE: Option = { name: 'force', parameter: 'force', about: 'also if the configuration file defines it' };
export const BODY: Operand = { name: 'BODY', about: 'directives; @FILE reads them from a file, @- from the standard input' };
export const BODY_OPTION: Option = {
  name: 'body',
  value: 'BODY',
  about: 'directives; @FILE reads them from a file, @- from the standard input',
};
export const UPSTREAM: Operand = { name: 'UPSTREAM', about: 'name of the upstream' };
export const ADDRESS: Operand = { name: 'ADDRESS', about: 'address that the server listens on: 0.0.0.0:80' };
export const NAME: Option = { name: 'name', value: 'NAMES', about: 'names of the server; without it, the default server of the address' };

export type Read = (file: string) => string;

/** Directives from the command line or a file. */
export function text(value: string | undefined, read: Read): string | undefined {
  return value?.startsWith('@') ? read(value.slice(1)) : value;
}

/** True if a command is about the stream engine. */
export const isStream = (args: Arguments): boolean => args.optional('stream') === 'true';

/** Where a block is from. */
export const origin = (row: Row): string => (row['is_static'] === true ? 'file' : 'API');
/** The beginning of a field in one line. */
export const shortBody =
  (field: string) =>
  (row: Row): string => {
    const line = printable(
      valueText(row[field])
        .replace(/\s*\n\s*/g, ' ')
        .trim(),
    );
    return line.length > 60 ? `${line.slice(0, 59)}…` : line;
  };

/** The server that an operand and `--name` name. */
export function place(args: Arguments): Record<string, string> {
  return defined({ addr_port: args.operand('ADDRESS'), server_name: args.optional('name') });
}

export const LISTED: Operand = { ...ADDRESS, optional: true };

/** The list of one server, or of all. */
export function listCall(path: string, args: Arguments): CommandCall {
  return { method: 'GET', path, query: defined({ addr_port: args.optional('ADDRESS'), server_name: args.optional('name') }) };
}
