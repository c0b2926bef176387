import { argType } from '../../core/contract/arg-type.js';
import { flag as onOff, optional, rest, template, text, variableName } from '../../core/contract/args.js';
import type { ExplainNotes } from '../../core/contract/explain.js';
import {
  DECLINED,
  DONE,
  type Handler,
  type HttpHandlers,
  type HttpRequest,
  type Scope,
  type Template,
  type VariableGetter,
} from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { compilePattern, namedGroups } from '../../core/toolkit/pattern.js';
import { Log } from '../../core/contract/log.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import { SystemFiles } from '../../core/contract/system-files.js';
import type { Directive } from '../../core/contract/tree.js';
import { compileCondition, type Condition } from './condition.js';
import { isUrlWithText, returnHandler, statusOrUrl } from './return.js';
import { flag, replacement, rewriteStep } from './rewrite.js';
import { explainedRewrite, explainedSet, explainIf, explainReturn, explainSteps, sayBreak, type ExplainedDirective } from './explain.js';
import { BREAK, CHANGED, LAST, NEXT, runSteps, type Outcome, type Step, type WaitingStep } from './script.js';

const IN = ['server', 'location', 'if in server', 'if in location'] as const;
/** Directives that are the steps of a block. */
const STEPS = ['break', 'if', 'return', 'rewrite', 'set'];
const ANYWHERE = ['http', ...IN] as const;

function pattern(): ArgType<{ readonly source: string; readonly pattern: RegExp }> {
  return argType({ kind: 'text', form: 'regex', parse: (source) => ({ source, pattern: compilePattern(source, false) }) });
}

const groupsOf = ({ args }: Directive): readonly string[] => args.flatMap((word) => namedGroups(word.text));

function ifSpec<const C extends 'server' | 'location'>(context: C) {
  return directive({
    name: 'if',
    in: [context],
    args: { condition: rest(text('(condition)')) },
    block: `if in ${context}`,
    many: true,
    inherit: 'none',
    defines: groupsOf,
    doc: 'Directives for requests that meet a condition; in a location also settings for them.',
  });
}

const directives = {
  break: directive({ in: IN, many: true, inherit: 'none', doc: 'Ends the directives of this module; the request stays in its location.' }),
  ifInServer: ifSpec('server'),
  ifInLocation: ifSpec('location'),
  return: directive({
    in: IN,
    args: { first: statusOrUrl(), second: optional(template('text | URL')) },
    many: true,
    inherit: 'none',
    doc: 'Stops processing and responds with a status, a text or a redirect.',
  }),
  rewrite: directive({
    in: IN,
    args: { regex: pattern(), replacement: replacement(), flag: optional(flag()) },
    many: true,
    inherit: 'none',
    defines: groupsOf,
    doc: 'Replaces a path that matches the regular expression, or redirects. Arguments are appended unless the replacement ends with "?".',
  }),
  rewrite_log: directive({ in: ANYWHERE, args: onOff(), default: 'off', doc: 'Log how these directives work, at the level notice.' }),
  set: directive({
    in: IN,
    args: { variable: variableName(), value: template('value') },
    many: true,
    inherit: 'none',
    defines: ({ args }) => (args[0]?.text.startsWith('$') === true ? [args[0].text.slice(1)] : []),
    assigns: true,
    doc: 'Sets a variable.',
  }),
  uninitialized_variable_warn: directive({
    in: ANYWHERE,
    args: onOff(),
    default: 'on',
    doc: 'Log a warning when a variable is used that nothing has set.',
  }),
};

type RewriteScope = Scope<typeof directives>;

/** The directives of one block at work, and what is said of them. */
interface Script {
  readonly run: Handler;
  readonly explain: (request: HttpRequest, notes: ExplainNotes) => Outcome;
}

/** Changes paths and variables, redirects, and responds without a backend, in the order the directives are written (ngx_http_rewrite_module). */
@httpModule({ name: 'srv_http_rewrite_module', api: '1.2', directives })
export class Rewrite {
  /** Blocks with `uninitialized_variable_warn off`. */
  readonly #quiet = new WeakSet<Directive>();

  constructor(
    private readonly log: Log,
    private readonly files: SystemFiles,
  ) {}

  compileServer(scope: RewriteScope): HttpHandlers | undefined {
    const script = this.#script(scope);
    return script && { server_rewrite: script.run, explain: { server_rewrite: script.explain } };
  }

  compile(scope: RewriteScope): HttpHandlers | undefined {
    if (!scope.conf.uninitialized_variable_warn && scope.directive !== undefined) this.#quiet.add(scope.directive);
    if (scope.kind !== 'location' || !STEPS.some((name) => scope.own(name))) return undefined;
    const script = this.#script(scope);
    return script && { rewrite: script.run, explain: { rewrite: script.explain } };
  }

  /** The value of what `set` may set, before it did. */
  compileVariables({ name, args }: Directive): Readonly<Record<string, VariableGetter>> | undefined {
    const variable = args[0]?.text.slice(1).toLowerCase();
    if (name !== 'set' || variable === undefined) return undefined;
    return { [variable]: (request) => this.#uninitialized(variable, request) };
  }

  #uninitialized(name: string, request: HttpRequest): string {
    const { directive: block } = request.scope;
    if (block === undefined || !this.#quiet.has(block)) this.log.write('warn', `using uninitialized "${name}" variable`, request);
    return '';
  }

  #script(scope: RewriteScope): Script | undefined {
    const explained = this.#steps(scope);
    const steps = explained.map(({ run }) => run);
    const [only] = steps;
    if (only === undefined) return undefined;
    const inLocation = scope.kind === 'location';
    const end = (request: HttpRequest, outcome: Outcome): Outcome => {
      if (outcome === NEXT || outcome === BREAK) return DECLINED;
      if (outcome === CHANGED || outcome === LAST) return inLocation ? request.relocate() : DECLINED;
      return outcome;
    };
    const ending = (request: HttpRequest, outcome: Outcome | Promise<Outcome>): Outcome | Promise<Outcome> =>
      typeof outcome === 'number' ? end(request, outcome) : outcome.then((late) => end(request, late));
    return {
      run: steps.length === 1 ? (request) => ending(request, only(request)) : (request) => ending(request, runSteps(steps, request)),
      explain: (request, notes) => end(request, explainSteps(explained, request, notes)),
    };
  }

  /** The directives of this very block in their order. */
  #steps(scope: RewriteScope): ExplainedDirective[] {
    const { conf } = scope;
    const [returns, rewrites, sets] = [[...conf.return], [...conf.rewrite], [...conf.set]];
    const log = conf.rewrite_log ? this.log : undefined;
    const steps = scope.each(scope.directive?.block ?? [], (line): ExplainedDirective | undefined => {
      switch (line.name) {
        case 'break':
          return { run: () => BREAK, explain: (_, notes) => sayBreak(notes) };
        case 'if':
          return this.#if(scope, line, log);
        case 'return': {
          if (isUrlWithText(line.args.map((word) => word.text)))
            scope.fail(`invalid return code "${line.args[0]?.text}"`, line, 'a URL is the only argument, or follows a status');
          const next = returns.shift();
          return next && { run: returnHandler(next), explain: explainReturn(line, returnHandler(next)) };
        }
        case 'rewrite': {
          const next = rewrites.shift();
          return next && explainedRewrite(line, rewriteStep(next, this.log, log));
        }
        case 'set': {
          const next = sets.shift();
          return next && explainedSet(next.variable, setStep(next.variable, next.value));
        }
        default:
          return undefined;
      }
    });
    return steps.filter((step) => step !== undefined);
  }

  #if(scope: RewriteScope, line: Directive, log: Log | undefined): ExplainedDirective {
    const condition = this.#condition(scope, line);
    const explained = this.#steps(scope.inner(line));
    const steps = explained.map(({ run }) => run);
    const { test, file } = condition;
    const enter = (request: HttpRequest): void => {
      if (scope.kind !== 'server') request.enterBlock(line);
    };
    const runIf = (isMet: boolean, request: HttpRequest): Outcome | Promise<Outcome> => {
      if (!isMet) return NEXT;
      enter(request);
      return runSteps(steps, request);
    };
    return {
      run: file === undefined ? (request) => runIf(test(request, log), request) : waitFor(file, usesThreads(scope), runIf),
      explain: (request, notes) => {
        const isMet = test(request, log);
        if (isMet) enter(request);
        return explainIf(line, isMet, explained, request, notes);
      },
    };
  }

  #condition(scope: RewriteScope, line: Directive): Condition {
    const words = line.args.map((word) => word.text);
    try {
      return compileCondition(words, scope.args, this.log, this.files);
    } catch (error) {
      if (error instanceof ArgError) return scope.fail(error.message, line, error.hint);
      throw error;
    }
  }
}

/** Where files are always looked at by other threads, which costs a request more than a look at a file in the system's cache. */
function usesThreads(scope: RewriteScope): boolean {
  const mode = scope.lines('aio').at(-1)?.args[0]?.text ?? 'off';
  return mode !== 'off';
}

/** A step after a file was looked at. DONE for a request that is gone meanwhile, or over its time limit: nothing is to happen to it any more. */
function waitFor(
  { testCached, testLater }: NonNullable<Condition['file']>,
  usesThreads: boolean,
  then: (isMet: boolean, request: HttpRequest) => Outcome | Promise<Outcome>,
): WaitingStep {
  const waiting = async (request: HttpRequest): Promise<Outcome> => {
    const { signal } = request;
    const isMet = await testLater(request);
    return signal.aborted ? DONE : then(isMet, request);
  };
  return (request) => {
    const isMet = usesThreads ? undefined : testCached(request);
    return isMet === undefined ? waiting(request) : then(isMet, request);
  };
}

function setStep(variable: string, value: Template): Step {
  return (request) => {
    request.assign(variable, value.of(request));
    return NEXT;
  };
}
