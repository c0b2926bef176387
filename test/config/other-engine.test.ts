/** Templates, variables and scopes of a traffic engine whose requests are not those of HTTP. */
import test from 'ava';
import { UnitRecorder } from '../../core/config/holdings.js';
import { parseText } from '../../core/config/parser.js';
import { ScopedReader, ScopeNode } from '../../core/config/scope.js';
import { compileTemplate, templateParts } from '../../core/config/template.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import { Variables } from '../../core/config/variables.js';
import { template } from '../../core/contract/args.js';
import type { BlockScope } from '../../core/contract/scope.js';
import { directive, type ArgContext } from '../../core/contract/spec.js';
import { importsOf, sourceFiles } from '../docs/source-files.js';
import { fakeMetrics } from '../../testing/metrics.js';

/** A connection of `stream`. */
interface Session {
  readonly protocol: 'TCP' | 'UDP';
  readonly remote: string;
}

const directives = { greeting: directive({ in: ['stream', 'server'], args: template<Session>() }) };

function contextOf(variables: Variables<Session>): ArgContext<Session> {
  const lookup = (name: string): ReturnType<typeof variables.getter> => variables.getter(name);
  return {
    template: (text) => compileTemplate(text, lookup),
    parts: (text) => templateParts(text, lookup),
    path: (text) => text,
  };
}

const none = (): undefined => undefined;

test('a scope of another engine has values made of its own requests, and inherits them', (t) => {
  const variables = new Variables<Session>(
    none,
    () => none,
    () => false,
    () => false,
    () => false,
    none,
  );
  variables.define('protocol', ({ protocol }) => protocol);
  variables.define('remote_addr', ({ remote }) => remote);
  const { directives: parsed } = parseText('stream { greeting "hello $protocol from $remote_addr"; server { } }', {
    ids: new IdSource(),
    file: 'test',
  });
  const [stream] = ConfigTree.fromData(parsed).root.named('stream');
  const [server] = stream?.block?.named('server') ?? [];
  const recorder = new UnitRecorder({ read: () => Buffer.alloc(0) }, { write: none, enabled: () => false }, fakeMetrics());
  const reader = new ScopedReader<'stream' | 'server', Session>(0, directives, contextOf(variables), recorder);
  const outer = new ScopeNode('stream', 'stream', stream, stream?.block, undefined);
  const inner = new ScopeNode('server', 'server', server, server?.block, outer);
  const scope: BlockScope<typeof directives, 'stream' | 'server', Session> = reader.view(inner) as never;
  t.is(scope.kind, 'server');
  t.is(scope.conf.greeting?.of({ protocol: 'UDP', remote: '192.0.2.1' }), 'hello UDP from 192.0.2.1');
});

test('the configuration language knows no HTTP', (t) => {
  const strange = sourceFiles('core/config').flatMap((file) =>
    importsOf(file)
      // The contract's types name what a change carries for each engine.
      .filter(({ target, typesOnly }) => /(^|\/)http\b/.test(target) && !(typesOnly && target.startsWith('core/contract/')))
      .map(({ target }) => `${file.path} imports ${target}`),
  );
  t.deepEqual(strange, []);
});
