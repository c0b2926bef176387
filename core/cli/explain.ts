import type { Installation } from '../kernel/installation.js';
import { ExplainError, type ExplainQuestion } from '../contract/explain.js';
import { readExplained, type Output } from './explained-configuration.js';
import { explanationText } from './explanation-text.js';
import type { Subcommand } from './subcommands.js';

/** Carries out `srv explain URL`. Returns the exit code. */
export async function explainRequest(command: Subcommand, installation: Installation, output: Output): Promise<number> {
  const configuration = await readExplained(command, installation, output);
  if (configuration === undefined) return 1;
  try {
    const explanation = configuration.explainer.explain(questionOf(command));
    output.stdout(command.json ? `${JSON.stringify(explanation, undefined, 2)}\n` : explanationText(explanation));
    return 0;
  } catch (error) {
    if (!(error instanceof ExplainError)) throw error;
    output.stderr(`srv: ${error.message}\n`);
    return 1;
  } finally {
    await configuration.end();
  }
}

function questionOf({ subject: url, method, headers, client, listen }: Subcommand): ExplainQuestion {
  return { url, headers, ...(method && { method }), ...(client && { client }), ...(listen && { listen }) };
}
