/** The words that this project does not use in what people read, each with what to write instead. */
export interface RejectedWord {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Uses that are meant; tried on the text around the word. */
  readonly except?: RegExp;
}

export const REJECTED: readonly RejectedWord[] = [
  { pattern: /\b(?:told|tells)\b/gi, instead: 'report, notify, say, distinguish' },
  {
    pattern: /\b(?:nobody|somebody)\b/gi,
    instead: 'name the one who does it, or "unused", "unexpected"',
    except: /\b(?:user|group|as|owner) ["']?nobody\b|nobody:/i,
  },
  { pattern: /\bwhoever\b/gi, instead: 'the caller, the client, a module that' },
  { pattern: /\banew\b/gi, instead: 'again' },
  { pattern: /\bstands?\b/gi, instead: 'is', except: /\bstands? (?:for|in for)\b|\bstand(?:ing)?[- ](?:ins?|alone|by)\b/i },
  { pattern: /\blies?\b/gi, instead: 'is' },
  {
    pattern: /\bbehind\b/gi,
    instead: 'after, late, slow',
    except:
      /\b(?:left?|leaves?|fall(?:s|en)?) (?:\w+ ){0,2}behind\b|\bbehind (?:[\w-]+ ){0,3}(?:prox(?:y|ies)|balancers?|NAT|nginx|haproxy|srv)\b/i,
  },
  { pattern: /\b(?:not|never) taken\b/gi, instead: 'rejected, not accepted, not read yet', except: /taken (?:over|from|back)/i },
  { pattern: /\b(?:in|into|out of) force\b/gi, instead: 'active, current, effective; take effect' },
  { pattern: /\bfor ever\b/gi, instead: 'permanently, forever' },
  { pattern: /\bg(?:ive|ives|ave|iven) back\b/gi, instead: 'return, release' },
  { pattern: /\bothers? than\b/gi, instead: 'different from', except: /\bother than\b/i },
  {
    pattern: /\b[Rr]efus(?:e|es|ed|al|als|ing)\b/g,
    instead: 'reject, not allowed',
    except: /\bconnect(?:ion|ions|s)?\b[^.]{0,40}\brefus|\brefus\w* (?:\w+ ){0,2}connections?\b|ECONNREFUSED/i,
  },
  { pattern: /\bmistakes?\b|\bslips? of the pen\b/gi, instead: 'error' },
  { pattern: /\banswer(?:s|ed|ing)?\b/gi, instead: 'response, respond; reply (DNS)' },
  {
    pattern: /\b(?:is|are|was|were) (?:not )?there(?=[.,;:)]|\s+(?:when|before|until|already|yet)\b)/gi,
    instead: 'exists, is ready, has arrived',
  },
  {
    pattern: /(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b|such\b|different\b)\w+/gi,
    instead: '"is not", or "must be …"',
    except: /\bthere\b/i,
  },
  { pattern: /\bthose (?:that|who|which)\b/gi, instead: 'the noun: "members that"' },
  { pattern: /(?<!\/\*\* )\bWhat\b(?=(?:[^.?!|\n]|\n(?!\n)){2,200}\.(?:\s|['"`]))/g, instead: 'subject, verb, object: find the noun' },
  {
    pattern: /(?<=\/\*\* |['"`])(?:What|Whether|Those|Who)\b/g,
    instead: 'begin with a noun phrase, "True if", or a verb in the third person',
  },
];
