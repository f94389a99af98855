import { styleText } from 'node:util'
import { toPrintable } from './words.js'

/** How a text may be emphasised. */
export type TextFormat = 'bold' | 'dim' | 'red' | 'yellow' | 'green'

/**
 * Text that may go to a terminal. Only `safe`, `safeLines` and `style` create one, so a command cannot print a value
 * that was not escaped: `Terminal` takes nothing else.
 */
export class SafeText {
  readonly #text: string

  private constructor(text: string) {
    this.#text = text
  }

  /** Escapes every value of a template; the literal parts come from this program. */
  static fromTemplate(literals: readonly string[], values: readonly SafeValue[]): SafeText {
    const escaped = values.map((value) =>
      value instanceof SafeText ? value.#text : toPrintable(String(value)),
    )
    return new SafeText(literals.map((literal, at) => literal + (escaped[at] ?? '')).join(''))
  }

  /** Formats the text, even if stdout is not a terminal. */
  static styled(format: TextFormat, text: string | SafeText): SafeText {
    return new SafeText(styleText(format, safe`${text}`.#text, { validateStream: false }))
  }

  toString(): string {
    return this.#text
  }
}

/** What a template of `safe` takes. */
export type SafeValue = string | number | SafeText

/**
 * A text for the terminal. Values from outside (ids, messages of drivers, file names) cannot move the cursor, end a line or
 * reach the clipboard: their control characters are printed as escapes.
 *
 * @example
 * terminal.write(safe`No live session of ${user}\n`)
 */
export function safe(literals: TemplateStringsArray, ...values: readonly SafeValue[]): SafeText {
  return SafeText.fromTemplate(literals, values)
}

/** Lines, each of them escaped and ended. */
export function safeLines(lines: readonly SafeValue[]): SafeText {
  return SafeText.fromTemplate(['', ...lines.map(() => '\n')], lines)
}
