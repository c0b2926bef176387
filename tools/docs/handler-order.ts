/** The order of the handlers of the modules that come with srv, as their manifests have it. */
import { HTTP_PARTS, ModuleOrder, STREAM_PARTS } from '../../core/kernel/module-order.js';
import type { DocumentedModule } from './all-modules.js';

const INTRODUCTION = `Handlers of one phase, and header filters, run in this order: by the number in the manifest, lower first, 100 if there is none; those of one
number in the order of loading, which is that of the table above. A module that says \`after\` or \`before\` comes after or before the other
one in every row. These have a number of their own:`;

/** The section of the index of directives. */
export function handlerOrder(modules: readonly DocumentedModule[]): readonly string[] {
  const stream = modules.filter(({ declaration }) => declaration.kind === 'stream');
  const others = modules.filter((module) => !stream.includes(module));
  const rows = [...orderIn(HTTP_PARTS, others, ''), ...orderIn(STREAM_PARTS, stream, 'stream: ')];
  return ['## Order of handlers', '', INTRODUCTION, '', '| phase | |', '| --- | --- |', ...rows];
}

function orderIn(
  parts: readonly (typeof HTTP_PARTS | typeof STREAM_PARTS)[number][],
  modules: readonly DocumentedModule[],
  engine: string,
): readonly string[] {
  const manifests = modules.map(({ declaration }) => declaration.manifest);
  const order = new ModuleOrder(manifests);
  return parts.flatMap((part) => {
    const numbered = manifests.filter(
      ({ phases, after, before }) => phases?.[part] !== undefined || after !== undefined || before !== undefined,
    );
    if (!numbered.some(({ phases }) => phases?.[part] !== undefined)) return [];
    const sorted = numbered.toSorted((a, b) => order.ranksOf(a.name)[part] - order.ranksOf(b.name)[part]);
    return [`| ${engine}\`${part}\` | ${sorted.map(({ name, phases }) => `${name} ${phases?.[part] ?? 100}`).join(', ')} |`];
  });
}
