import type { KeyLog } from '../../contract/manifest.js';
import type { LogFiles } from '../../contract/log-files.js';
import { openLog } from '../open-log.js';

/** The file of `ssl_key_log` or `proxy_ssl_key_log`, open as long as its scope. @param place the directive that names it */
export function openKeyLog(scope: Parameters<typeof openLog>[0], files: LogFiles, name: string, place: string): KeyLog {
  return openLog(scope, files, { name, place, secret: true });
}
