import { isIP } from 'node:net';
import { AddressError, parseAddress } from '../contract/address.js';
import { ArgError } from '../contract/spec.js';
import { LogTargetError } from './log-file-error.js';

/** Values of `syslog:server=…`, for error_log and access_log. */
export interface SyslogTarget {
  /** Path of a unix socket; an address, or a name that has to be looked up, with a port. */
  readonly server: { readonly path: string } | { readonly host: string; readonly port: number };
  /** As it is written, for messages. */
  readonly serverText: string;
  /** Number of the facility (RFC 3164, 4.1.1). */
  readonly facility: number;
  /** Of messages that have no level of their own. */
  readonly severity: number;
  readonly tag: string;
  readonly hasHostname: boolean;
  /** Lines are in the form of RFC 5424. */
  readonly isStructured: boolean;
  /** Lines go over a TCP connection (RFC 6587), not in datagrams. */
  readonly isStream: boolean;
}

const PORT = 514;
const LONGEST_TAG = 32;

/** In the order of their numbers, which is nginx's as well. */
const FACILITIES: readonly string[] = (
  'kern user mail daemon auth intern lpr news uucp clock authpriv ftp ntp audit alert cron ' +
  'local0 local1 local2 local3 local4 local5 local6 local7'
).split(' ');
const SEVERITIES: readonly string[] = ['emerg', 'alert', 'crit', 'error', 'warn', 'notice', 'info', 'debug'];

export const isSyslog = (text: string): boolean => text.startsWith('syslog:');

/** Reads `syslog:server=10.0.0.1:514,facility=local7,tag=nginx,severity=info,nohostname`. @throws ArgError in nginx's words */
export function parseSyslog(text: string): SyslogTarget {
  let server: string | undefined;
  const target = {
    facility: FACILITIES.indexOf('local7'),
    severity: SEVERITIES.indexOf('info'),
    tag: 'nginx',
    hasHostname: true,
    isStructured: false,
    isStream: false,
  };
  for (const parameter of text.slice('syslog:'.length).split(',')) {
    const [key = '', value = ''] = parameter.split(/=(.*)/s);
    if (key === 'server' && parameter !== key) {
      if (server !== undefined) throw new ArgError('duplicate syslog "server"');
      server = value;
    } else if (key === 'facility') target.facility = indexIn(FACILITIES, 'facility', value);
    else if (key === 'severity') target.severity = indexIn(SEVERITIES, 'severity', value);
    else if (key === 'tag') target.tag = tagOf(value);
    else if (parameter === 'nohostname') target.hasHostname = false;
    else if (parameter === 'rfc5424') target.isStructured = true;
    else if (parameter === 'tcp') target.isStream = true;
    else
      throw new ArgError(
        `unknown syslog parameter "${parameter}"`,
        'parameters: server=, facility=, severity=, tag=, nohostname, rfc5424, tcp',
      );
  }
  if (server === undefined) throw new ArgError('no syslog server specified', 'syslog:server=10.0.0.1:514');
  const address = serverOf(server);
  if (target.isStream && 'path' in address)
    throw new ArgError(`syslog server "${server}" cannot be used with "tcp"`, 'name an address and port: syslog:server=10.0.0.1:601,tcp');
  return { ...target, server: address, serverText: server };
}

/** As {@link parseSyslog}, for text that was accepted, or comes from a variable. @throws LogTargetError */
export function syslogTarget(text: string): SyslogTarget {
  try {
    return parseSyslog(text);
  } catch (error) {
    throw error instanceof ArgError ? new LogTargetError(error.message) : error;
  }
}

function indexIn(words: readonly string[], what: string, word: string): number {
  const index = words.indexOf(word);
  if (index < 0) throw new ArgError(`unknown syslog ${what} "${word}"`, `one of: ${words.join(', ')}`);
  return index;
}

function tagOf(tag: string): string {
  if (tag.length > LONGEST_TAG) throw new ArgError(`syslog tag length exceeds ${LONGEST_TAG}`);
  if (!/^\w*$/.test(tag)) throw new ArgError('syslog "tag" only allows alphanumeric characters and underscore');
  return tag;
}

function serverOf(text: string): SyslogTarget['server'] {
  try {
    const parsed = parseAddress(text, PORT);
    if ('name' in parsed) return { host: parsed.name, port: parsed.port };
    return parsed.address;
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    if (isIP(text) === 6) return { host: text, port: PORT };
    const reason = error.reason === 'invalid host' ? 'host not found' : error.reason;
    throw new ArgError(`${reason} in syslog server "${text}"`, 'an address, a name, or unix:/path: 10.0.0.1, 10.0.0.1:514, unix:/dev/log');
  }
}
