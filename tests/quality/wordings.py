"""True sentences: several wordings of each fact, in English and other languages."""

from zlib import crc32

from tests.quality.happenings import Fact

ENGLISH = {
    "created": ("`{0}` was created.", "A new file was added: {0}.", "{0} has been created."),
    "edited": ("`{0}` was edited.", "{0} was changed.", "There were modifications to `{0}`."),
    "written": ("`{0}` was written.", "{0} has been written."),
    "deleted": ("`{0}` was deleted.", "{0} has been removed."),
    "read": ("`{0}` was read.", "{0} was looked at for context."),
    "passed": ("`{0}` passed.", "Running `{0}` succeeded.", "The last run of `{0}` was fine."),
    "failed": ("`{0}` failed.", "Running `{0}` ended with an error."),
    "mended": ("`{0}` failed at first and passes now.", "After a failure `{0}` succeeded."),
    "open": ("Still open: `{0}` fails with “{1}”.", "The error “{1}” of `{0}` is not solved."),
    "solved": ("The failure of `{0}` (“{1}”) is solved.",),
    "count": ("`{0}` reported {1} passing tests.", "{1} tests passed with `{0}`."),
    "setting": ("`{0}` is set to {1} in {2}.", "In {2}, {0} has the value {1}."),
    "line": ("`{0}:{1}` came up in the output.", "The output points at line {1} of {0}."),
    "rule": ("The user's rule: “{0}”", "The user said: “{0}”"),
    "said": ("The user wrote: “{0}”", "In the user's words: “{0}”"),
    "order": ("`{0}` was changed before `{1}`.", "First came {0}, then {1}."),
}
GERMAN = {
    "created": ("Die Datei `{0}` wurde angelegt.",),
    "edited": ("`{0}` wurde bearbeitet.",),
    "written": ("`{0}` wurde geschrieben.",),
    "deleted": ("`{0}` wurde gelöscht.",),
    "read": ("`{0}` wurde gelesen.",),
    "passed": ("`{0}` lief erfolgreich durch.",),
    "failed": ("`{0}` ist fehlgeschlagen.",),
    "mended": ("`{0}` schlug erst fehl und läuft jetzt durch.",),
    "open": ("Noch offen: `{0}` scheitert mit „{1}“.",),
    "solved": ("Der Fehler von `{0}` („{1}“) ist behoben.",),
    "count": ("`{0}` meldete {1} bestandene Tests.",),
    "setting": ("`{0}` steht in {2} auf {1}.",),
    "line": ("Die Ausgabe nennt Zeile {1} von {0}.",),
    "rule": ("Regel des Nutzers: „{0}“",),
    "said": ("Der Nutzer schrieb: „{0}“",),
    "order": ("`{0}` wurde vor `{1}` geändert.",),
}
FRENCH = {
    "created": ("Le fichier `{0}` a été créé.",),
    "edited": ("`{0}` a été modifié.",),
    "written": ("`{0}` a été écrit.",),
    "deleted": ("`{0}` a été supprimé.",),
    "read": ("`{0}` a été lu.",),
    "passed": ("`{0}` a réussi.",),
    "failed": ("`{0}` a échoué.",),
    "mended": ("`{0}` a d'abord échoué et réussit maintenant.",),
    "open": ("Encore ouvert : `{0}` échoue avec « {1} ».",),
    "solved": ("L'échec de `{0}` (« {1} ») est corrigé.",),
    "count": ("`{0}` a signalé {1} tests réussis.",),
    "setting": ("`{0}` vaut {1} dans {2}.",),
    "line": ("La sortie indique la ligne {1} de {0}.",),
    "rule": ("Consigne de l'utilisateur : « {0} »",),
    "said": ("L'utilisateur a écrit : « {0} »",),
    "order": ("`{0}` a été modifié avant `{1}`.",),
}
SPANISH = {
    "created": ("Se creó el archivo `{0}`.",),
    "edited": ("Se modificó `{0}`.",),
    "written": ("Se escribió `{0}`.",),
    "deleted": ("Se eliminó `{0}`.",),
    "read": ("Se leyó `{0}`.",),
    "passed": ("`{0}` terminó bien.",),
    "failed": ("`{0}` falló.",),
    "mended": ("`{0}` falló al principio y ahora pasa.",),
    "open": ("Sigue abierto: `{0}` falla con «{1}».",),
    "solved": ("El fallo de `{0}` («{1}») está resuelto.",),
    "count": ("`{0}` informó de {1} pruebas superadas.",),
    "setting": ("`{0}` vale {1} en {2}.",),
    "line": ("La salida señala la línea {1} de {0}.",),
    "rule": ("Regla del usuario: «{0}»",),
    "said": ("El usuario escribió: «{0}»",),
    "order": ("`{0}` se modificó antes que `{1}`.",),
}
RUSSIAN = {
    "created": ("Создан файл `{0}`.",),
    "edited": ("Файл `{0}` изменён.",),
    "written": ("Файл `{0}` записан.",),
    "deleted": ("Файл `{0}` удалён.",),
    "read": ("Файл `{0}` прочитан.",),
    "passed": ("Команда `{0}` выполнена успешно.",),
    "failed": ("Команда `{0}` завершилась с ошибкой.",),
    "mended": ("Команда `{0}` сначала не прошла, теперь проходит.",),
    "open": ("Не решено: `{0}` падает с «{1}».",),
    "solved": ("Ошибка `{0}` («{1}») исправлена.",),
    "count": ("`{0}`: пройдено тестов {1}.",),
    "setting": ("`{0}` равно {1} в {2}.",),
    "line": ("Вывод указывает на строку {1} файла {0}.",),
    "rule": ("Правило пользователя: «{0}»",),
    "said": ("Пользователь написал: «{0}»",),
    "order": ("`{0}` изменён раньше, чем `{1}`.",),
}
CHINESE = {
    "created": ("已创建文件 `{0}`。",),
    "edited": ("已修改 `{0}`。",),
    "written": ("已写入 `{0}`。",),
    "deleted": ("已删除 `{0}`。",),
    "read": ("已阅读 `{0}`。",),
    "passed": ("`{0}` 运行成功。",),
    "failed": ("`{0}` 运行失败。",),
    "mended": ("`{0}` 起初失败，现在已通过。",),
    "open": ("尚未解决：`{0}` 报错“{1}”。",),
    "solved": ("`{0}` 的错误“{1}”已解决。",),
    "count": ("`{0}` 报告 {1} 个测试通过。",),
    "setting": ("{2} 中 `{0}` 的值为 {1}。",),
    "line": ("输出指向 {0} 第 {1} 行。",),
    "rule": ("用户的规则：“{0}”",),
    "said": ("用户写道：“{0}”",),
    "order": ("`{0}` 先于 `{1}` 修改。",),
}
FOREIGN = (GERMAN, FRENCH, SPANISH, RUSSIAN, CHINESE)
HEADINGS = {
    "What the user wants": ("rule", "said"),
    "Open and solved errors": ("open", "solved"),
    "What was done": ("created", "edited", "written", "deleted", "order"),
    "Commands": ("passed", "failed", "mended", "count"),
    "Details": ("setting", "line", "read"),
}
"""Sections of a summary, with the kinds of facts in each."""


def worded(fact: Fact, language: dict[str, tuple[str, ...]]) -> str:
    """A fact as a sentence; the same fact always gets the same wording."""
    wordings = language[fact.kind]
    chosen = wordings[crc32(f"{fact.subject}{fact.value}".encode()) % len(wordings)]
    return chosen.format(fact.subject, *fact.value.split("|", 1), "")
