/** Error logs of servers and locations as a field of the API. */
import type { FieldSet, SettingSurroundings } from '../../core/contract/setting.js';
import type { Directive } from '../../core/contract/tree.js';
import { KnownLines, objectSchema } from '../../core/toolkit/setting-fields.js';
import { shownTarget, TARGET_FIELDS, targetWord, type ApiTarget } from './api-log-targets.js';

interface ErrorLog extends ApiTarget {
  readonly level?: string;
  readonly json?: boolean;
}

const LEVELS = ['debug', 'info', 'notice', 'warn', 'error', 'crit', 'alert', 'emerg'];

/** As access logs: logs that the configuration file writes elsewhere stay. */
export const errorLogs: FieldSet = {
  fields: {
    errorLogs: {
      type: 'array',
      description:
        'Error logs in files of the API, and at syslog servers that it may use (`error_log`). They replace the logs around the block.',
      items: objectSchema({
        ...TARGET_FIELDS,
        'level?': { type: 'string', enum: LEVELS, description: 'The lowest level that is logged (error).' },
        'json?': { type: 'boolean', description: 'Lines are JSON objects.' },
      }),
    },
  },
  directives: ['error_log'],
  read(lines, around) {
    const shown = lines.flatMap((line) => shownErrorLog(line, around) ?? []);
    return shown.length === 0 ? {} : { errorLogs: shown };
  },
  write({ errorLogs: value }, lines, call) {
    const known = new KnownLines(lines, (line) => shownErrorLog(line, call));
    const wanted = ((value ?? []) as readonly ErrorLog[]).flatMap(({ level = 'error', json, ...target }, i) => {
      const place = `/errorLogs/${i}`;
      const line = known.take({ ...target, level, ...(json === true && { json }) });
      if (line !== undefined) return line;
      const words = [targetWord(target, place, call), level, ...(json === true ? ['json'] : [])];
      return { name: 'error_log', words, pointer: `${call.pointer}${place}` };
    });
    return [...lines.filter((line) => shownErrorLog(line, call) === undefined), ...wanted];
  },
};

/** Undefined for a log of the configuration file somewhere else. */
function shownErrorLog({ args: [file, ...words] }: Directive, around: SettingSurroundings): ErrorLog | undefined {
  const target = shownTarget(file?.text ?? '', around);
  const isJson = words.some(({ text }) => text === 'json');
  return target && { ...target, level: words.find(({ text }) => text !== 'json')?.text ?? 'error', ...(isJson && { json: true }) };
}
