import type { ExplainHandler } from '../../core/contract/explain.js';
import { DECLINED, type Handler, type Result, type Scope } from '../../core/contract/http.js';

/** The folder as the configuration names it: its place on the machine is not disclosed. */
export function rootText(scope: Scope): string {
  for (let place: Scope | undefined = scope; place !== undefined; place = place.parent) {
    const name = place.own('alias') ? 'alias' : 'root';
    if (place.own(name)) return `${name} ${place.lines(name)[0]?.args[0]?.text ?? ''}`;
  }
  return 'root html';
}

/** @param run looks at files, and keeps nothing of them */
export function explainTryFiles(run: Handler, scope: Scope): ExplainHandler {
  const words = (scope.lines('try_files')[0]?.args ?? []).map(({ text }) => text);
  const last = words.at(-1) ?? '';
  return (request, notes) => {
    const said = `try_files ${words.join(' ')}`;
    const place = rootText(scope);
    // It waits in this thread.
    const { uri } = request;
    const result = run(request) as Result;
    if (result === DECLINED) notes.say(`${said}: there is a file for "${request.uri}" in ${place}`, { found: true, uri: request.uri });
    else if (result > 0) notes.say(`${said}: there is no file for "${uri}" in ${place}, so ${last}`, { found: false, status: result });
    return result;
  };
}
