/** Makes `console.log` and `util.inspect` show instances of a class as their `toJSON()` does, secrets hidden. */
export function inspectAsJson(type: {
  readonly name: string
  readonly prototype: { toJSON(): object }
}): void {
  Object.defineProperty(type.prototype, Symbol.for('nodejs.util.inspect.custom'), {
    value(
      this: { toJSON(): object },
      _depth: number,
      _options: object,
      inspect: (value: unknown) => string,
    ): string {
      return `${type.name} ${inspect(this.toJSON())}`
    },
  })
}
