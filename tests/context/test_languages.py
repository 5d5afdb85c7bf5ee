"""Telling the language a person writes in."""

import pytest

from tui_app.context.summaries.prompt import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Please fix the parser and write tests for it; it should not take long.", "English"),
        ("Kannst du bitte den Parser reparieren und auch die Tests für das Modul schreiben?", "German"),
        (
            "Peux-tu corriger le parseur et ajouter des tests pour que ce soit plus sûr dans la suite ?",
            "French",
        ),
        ("Arregla el analizador y añade pruebas para que no se rompa con los datos de la semana.", "Spanish"),
        ("Puoi correggere il parser e aggiungere dei test per la data che non è più valida?", "Italian"),
        ("Você pode corrigir o parser e adicionar testes para que não quebre com os dados?", "Portuguese"),
        ("Kun je de parser herstellen en ook een test schrijven voor het bestand dat niet werkt?", "Dutch"),
        ("Czy możesz naprawić parser i dodać testy, żeby się nie psuł tak jak teraz, proszę?", "Polish"),
        ("Исправь, пожалуйста, парсер и добавь тесты, чтобы он не ломался на этом.", "Russian"),
        ("请修复解析器，并为 parse_date() 添加测试。", "Chinese"),
        ("パーサーを修正して、テストも追加してください。", "Japanese"),
        ("파서를 수정하고 테스트도 추가해 주세요.", "Korean"),
        ("for i in range(10): print(i)", ""),
        ("ok", ""),
        ("", ""),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert language_of([text]) == language


def test_code_between_the_words_does_no_harm() -> None:
    code = "def parse(self, value: str) -> Date: return Date.from_iso(value)  # raises ValueError\n" * 40
    german = "Bitte schreib das um, wie es auch in den anderen Modulen ist, und mach die Tests nicht kaputt."
    assert language_of([german, code]) == "German"
    assert language_of(["请把这段代码改成异步的，并更新测试和文档：" * 4, code[:400]]) == "Chinese"
