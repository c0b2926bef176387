import { dryRunReply, route, type ActionContext, type Reply } from '../../core/contract/control.js';

/** All are served in the form of the last one, which has what those before it have. */
export const VERSIONS: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** As `route`, below the number of each version. */
export const served: typeof route = (verb, path, schemas) => (target, method, descriptor) => {
  for (const version of VERSIONS) route(verb, `/${version}${path}`, schemas)(target, method, descriptor);
};

/** The reply to a call that returns nothing. */
export function doneReply({ dryRun }: ActionContext, diff: readonly string[]): Reply {
  return dryRun ? dryRunReply(diff) : { status: 204 };
}
