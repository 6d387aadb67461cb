// Questions: a rating, a choice, a drop-down or a text each. What was shown, and in which order, goes with the answer.

import { element } from "./elements.js";

// Longer answers are not taken.
const CHARACTERS_MAX = 2000;

export function ask(questions, answered, trial) {
  const made = questions.map(one);
  const problem = element("p", { class: "problem", role: "alert", hidden: true });
  const send = element("button", { class: "main" }, "Send", element("kbd", "Enter"));
  const form = element("form", { style: "display: grid; gap: 26px" }, ...made.map(({ field }) => field), problem,
    element("div", { class: "acts" }, send));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const missing = made.filter(({ field, question, value }) => {
      const isMissing = question.required && !value();
      field.classList.toggle("missing", isMissing);
      return isMissing;
    });
    problem.hidden = missing.length === 0;
    if (missing.length) {
      problem.textContent = missing.length === 1 ? "One question still wants an answer." : `${missing.length} questions still want an answer.`;
      missing[0].field.querySelector("input, select, textarea").focus();
      return;
    }
    send.disabled = true;
    await answered(made.map(({ question, value }) => ({ question: question.question, presented: question.options ?? [], answer: value() })));
    send.disabled = false;
  });
  // A list of options does not send by itself.
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.repeat || event.target.tagName !== "SELECT") return;
    event.preventDefault();
    form.requestSubmit();
  });
  const title = trial === null || trial === undefined ? "Before you go" : questions.length > 1 ? "Some questions" : "A question";
  return [element("h1", title), form];
}

function one(question, number) {
  const legend = element("legend", question.ask, question.required ? null : element("small", "you may leave it out"));
  const name = `question-${number}`;
  const options = question.options ?? [];
  if (question.kind === "text") {
    const area = element("textarea", { name, maxLength: CHARACTERS_MAX, "aria-label": question.ask });
    const full = element("small", { role: "status", hidden: true }, `${CHARACTERS_MAX} characters at most.`);
    area.addEventListener("input", () => { full.hidden = area.value.length < CHARACTERS_MAX; });
    return { question, field: element("fieldset", {}, legend, area, full), value: () => area.value.trim().slice(0, CHARACTERS_MAX) };
  }
  if (question.kind === "drop_down") {
    const select = element("select", { name, "aria-label": question.ask }, element("option", { value: "" }, "Choose…"),
      ...options.map((option) => element("option", { value: option }, option)));
    return { question, field: element("fieldset", {}, legend, element("div", {}, select)), value: () => select.value };
  }
  const buttons = options.map((option) => element("label", {}, element("input", { type: "radio", name, value: option }), element("span", option)));
  const row = element("div", { class: question.kind === "rating" ? "rating" : "choice", role: "radiogroup", "aria-label": question.ask }, ...buttons);
  const field = element("fieldset", {}, legend, row);
  // Digits choose, as on paper forms that number their boxes.
  field.addEventListener("keydown", (event) => {
    const chosen = buttons.find((label) => label.textContent.trim() === event.key);
    chosen?.querySelector("input").click();
  });
  return { question, field, value: () => field.querySelector("input:checked")?.value ?? "" };
}
